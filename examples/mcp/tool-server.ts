/**
 * A tool server (MCP, JSON-RPC over HTTP) that runs no tool before Sallyport allows it. In a project of your own, write
 * `from '@sallyport/client'`.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AuthzenClient, AuthzenError, type Question, type Subject } from '../../packages/client/src/index.ts'
import { TOOLS } from './tools.ts'

const MOST_BYTES = 100_000

/** An error of JSON-RPC. */
class RpcError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** Whoever calls it passes on its own token of Sallyport. */
export function toolServer(client: AuthzenClient): Server {
  return createServer(async (request, response) => {
    const subject = subjectOf(request)
    if (!subject) return response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end()
    const answer = await answerTo(client, subject, request)
    return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
  })
}

async function answerTo(client: AuthzenClient, subject: Subject, request: IncomingMessage): Promise<object> {
  let id: unknown = null
  try {
    const call = JSON.parse(await readBody(request))
    id = call?.id ?? null
    return { jsonrpc: '2.0', id, result: await resultOf(client, subject, call?.method, call?.params ?? {}) }
  } catch (error) {
    return { jsonrpc: '2.0', id, error: rpcErrorOf(error) }
  }
}

async function resultOf(
  client: AuthzenClient,
  subject: Subject,
  method: unknown,
  { name, arguments: args }: { readonly name?: unknown; readonly arguments?: Readonly<Record<string, unknown>> },
): Promise<object> {
  if (method === 'initialize') {
    return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'notes', version: '1' } }
  }
  if (method === 'tools/list') return { tools: await toolsFor(client, subject) }
  if (method !== 'tools/call') throw new RpcError(-32601, 'unknown method')
  const tool = typeof name === 'string' ? TOOLS.get(name) : undefined
  if (typeof name !== 'string' || !tool) throw new RpcError(-32602, 'unknown tool')
  const { decision } = await client.evaluate(mayCall(subject, name, tool.effect))
  if (!decision) throw new RpcError(-32003, 'you may not call this tool')
  return { content: [{ type: 'text', text: tool.run(args ?? {}) }] }
}

/** Only those that the subject may call: the client makes one request of all questions. */
async function toolsFor(client: AuthzenClient, subject: Subject): Promise<readonly object[]> {
  const all = [...TOOLS]
  const decisions = await Promise.all(all.map(([name, { effect }]) => client.evaluate(mayCall(subject, name, effect))))
  return all.flatMap(([name, { description, inputSchema }], i) =>
    decisions[i]?.decision ? [{ name, description, inputSchema }] : [],
  )
}

function mayCall(subject: Subject, name: string, effect: string): Question {
  return { subject, action: { name: 'tools/call' }, resource: { type: 'tool', id: name, properties: { effect } } }
}

/** Sallyport verifies the token, and that it is this subject's. Here it is only read. */
function subjectOf({ headers }: IncomingMessage): Subject | undefined {
  const token = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1]
  try {
    const { sub } = JSON.parse(Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString())
    return typeof sub === 'string' ? { type: 'identity', id: sub, properties: { token } } : undefined
  } catch {
    return undefined
  }
}

/** A fault of the decision point is told apart from a denial, and runs no tool either. */
function rpcErrorOf(error: unknown): { readonly code: number; readonly message: string } {
  if (error instanceof RpcError) return { code: error.code, message: error.message }
  if (error instanceof AuthzenError) return { code: -32000, message: 'there is no decision now: try again later' }
  return { code: -32700, message: 'this is no JSON-RPC request' }
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = ''
  let length = 0
  for await (const chunk of request.setEncoding('utf8')) {
    length += chunk.length
    // The rest is read and thrown away, so that the answer arrives.
    if (length <= MOST_BYTES) text += chunk
  }
  if (length > MOST_BYTES) throw new RpcError(-32600, 'the request is too large')
  return text
}
