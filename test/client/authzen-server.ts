/**
 * A small AuthZEN server, written from the standard alone and without our server's code: the records and people of the
 * standard's certification scenario. A test can make it answer otherwise, late, or wrongly.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'

type Json = Readonly<Record<string, unknown>>

interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what was sent
  readonly body: any
}

export interface AuthzenServer {
  readonly url: string
  readonly port: number
  readonly received: readonly Received[]
  /** Connections that were opened. */
  readonly connections: number
  /** Members of the metadata; undefined leaves one out. */
  metadata: Record<string, unknown>
  /** Headers of every answer. */
  headers: Record<string, string>
  /** Answers instead of the server, where it returns true. */
  instead: (received: Received, response: ServerResponse) => boolean
  /** Closes the connections that are idle, as a server does before it stops. */
  dropConnections(): void
  stop(): Promise<void>
}

const PEOPLE = new Map([
  ['alice', []],
  ['bob', ['admin']],
])
const RECORDS = new Map([
  ['record-1', 'active'],
  ['record-2', 'archived'],
])
const ACTIONS = ['read', 'write', 'delete']

export async function startAuthzenServer(port = 0): Promise<AuthzenServer> {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer(async (request, response) => {
    const sent = await text(request)
    const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body: parsed(sent) }
    received.push(one)
    const id = request.headers['x-request-id']
    if (id !== undefined) response.setHeader('X-Request-ID', id)
    for (const [name, value] of Object.entries(started.headers)) response.setHeader(name, value)
    if (started.instead(one, response)) return
    const { status, body } = answerTo(one, started.metadata)
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  })
  // A busy machine may pause for longer than Node's few seconds.
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket) => {
    connections++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const { port: listening } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${listening}`
  const started: AuthzenServer = {
    url,
    port: listening,
    received,
    get connections() {
      return connections
    },
    metadata: metadataOf(url),
    headers: {},
    instead: () => false,
    dropConnections: () => {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return started
}

function metadataOf(url: string): Record<string, unknown> {
  return {
    policy_decision_point: url,
    access_evaluation_endpoint: `${url}/access/v1/evaluation`,
    access_evaluations_endpoint: `${url}/access/v1/evaluations`,
    search_subject_endpoint: `${url}/access/v1/search/subject`,
    search_resource_endpoint: `${url}/access/v1/search/resource`,
    search_action_endpoint: `${url}/access/v1/search/action`,
  }
}

interface Answered {
  readonly status: number
  readonly body: unknown
}

function answerTo({ path, body }: Received, metadata: Json): Answered {
  if (path === '/.well-known/authzen-configuration') return { status: 200, body: metadata }
  if (path === '/access/v1/evaluation') return evaluation(body)
  if (path === '/access/v1/evaluations') return evaluations(body)
  const searched = /^\/access\/v1\/search\/(subject|resource|action)$/.exec(path)?.[1]
  return searched ? search(searched, body) : { status: 404, body: 'nothing is here' }
}

function evaluation(question: Json): Answered {
  return isComplete(question)
    ? { status: 200, body: { decision: decide(question) } }
    : { status: 400, body: 'a member is missing' }
}

function evaluations({ evaluations: items, options, ...defaults }: Json): Answered {
  if (!Array.isArray(items) || items.length === 0) return evaluation(defaults)
  const semantic = (options as Json | undefined)?.evaluations_semantic ?? 'execute_all'
  const answers: Json[] = []
  for (const item of items) {
    const question = { ...defaults, ...item }
    const missing = { decision: false, context: { error: { status: 400, message: 'a member is missing' } } }
    const answer = isComplete(question) ? { decision: decide(question) } : missing
    answers.push(answer)
    if (semantic === 'deny_on_first_deny' && !answer.decision) break
    if (semantic === 'permit_on_first_permit' && answer.decision) break
  }
  return { status: 200, body: { evaluations: answers } }
}

function search(searched: string, { page, ...query }: Json): Answered {
  const all = candidates(searched).filter((one) => decide({ ...query, [searched]: one }))
  const { limit = 100, token = '0' } = (page ?? {}) as { readonly limit?: number; readonly token?: string }
  const end = Number(token) + limit
  const results = all.slice(Number(token), end)
  return { status: 200, body: { page: { next_token: end < all.length ? String(end) : '' }, results } }
}

function candidates(searched: string): readonly Json[] {
  if (searched === 'action') return ACTIONS.map((name) => ({ name }))
  if (searched === 'subject') return [...PEOPLE.keys()].map((id) => ({ type: 'user', id }))
  return [...RECORDS.keys()].map((id) => ({ type: 'record', id }))
}

function isComplete({ subject, action, resource }: Json): boolean {
  const has = (value: unknown, ...names: readonly string[]) =>
    names.every((name) => typeof (value as Json | undefined)?.[name] === 'string')
  return has(subject, 'type', 'id') && has(action, 'name') && has(resource, 'type', 'id')
}

/** The policy of the scenario: alice works on active records, bob reads all, and admins write archived ones. */
function decide(question: Json): boolean {
  // biome-ignore lint/suspicious/noExplicitAny: complete, as was checked
  const { subject, action, resource } = question as any
  const status = resource.properties?.status ?? RECORDS.get(resource.id)
  const roles = [...(PEOPLE.get(subject.id) ?? []), subject.properties?.role]
  if (!PEOPLE.has(subject.id) || status === undefined) return false
  if (action.name === 'read') return status === 'active'
  if (action.name === 'write') return status === 'archived' ? roles.includes('admin') : subject.id === 'alice'
  return action.name === 'delete' && subject.id === 'alice' && action.properties?.soft === true
}

function parsed(sent: string): unknown {
  try {
    return JSON.parse(sent)
  } catch {
    return undefined
  }
}
