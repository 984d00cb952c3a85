/** Callers who may send batches in the world of test/request/referring-world.ts, and the same requests one by one. */
import fc from 'fast-check'
import { withRules } from '../policy-text.ts'
import { REFERRING } from '../request/referring-world.ts'
import type { Answer, TestServer } from '../server.ts'

export const BATCHING = {
  ...REFERRING,
  'policies/policy.csv': withRules(REFERRING['policies/policy.csv'], 'p, member, system/batch, send, any, *, allow'),
}

export interface Part {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface PartAnswer {
  readonly id: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the server answered
  readonly body?: any
}

interface Sent {
  readonly atomic?: boolean
  readonly headers?: Record<string, string>
}

export function sendBatch(
  server: TestServer,
  token: string | undefined,
  requests: readonly Part[],
  { atomic, headers = {} }: Sent = {},
): Promise<Answer> {
  return server.ask('POST', '/batch', { token, headers, body: { requests, ...(atomic !== undefined && { atomic }) } })
}

/** As a client without batches would do it. A request that names a value which there isn't can't be sent. */
export async function sendOneByOne(
  server: TestServer,
  token: string,
  requests: readonly Part[],
): Promise<readonly PartAnswer[]> {
  const answers: PartAnswer[] = []
  const valueAt = (reference: string) => {
    const [id, ...way] = reference.split('.')
    const answer = answers.find((one) => one.id === id)
    const body = answer && answer.status < 400 ? answer.body : undefined
    const value = way.reduce<unknown>((found, name) => (found as Record<string, unknown> | undefined)?.[name], body)
    if (value === undefined) throw new Absent()
    return value
  }
  for (const { id, method, path, headers, body } of requests) {
    try {
      const named = path.replaceAll(/\{([^}]*)\}/g, (_, reference) => encodeURIComponent(String(valueAt(reference))))
      const filled =
        body === undefined
          ? undefined
          : JSON.parse(JSON.stringify(body), (_, value) => (value?.$ref ? valueAt(value.$ref) : value))
      const answer = await server.ask(method, named, { token, headers: { ...headers }, body: filled })
      answers.push({
        id,
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        ...(answer.text !== '' && { body: answer.body }),
      })
    } catch (error) {
      if (!(error instanceof Absent)) throw error
      answers.push({ id, status: 424, headers: {} })
    }
  }
  return answers
}

class Absent extends Error {}

/** What doesn't change from one time to another: ids by their order, no times, no tags but that there is one. */
export function comparable(answers: readonly PartAnswer[], names: Readonly<Record<string, string>>): unknown {
  const ids = new Map<string, string>()
  const known = (text: string) =>
    text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) =>
        ids.getOrInsertComputed(id, () => `id ${ids.size}`),
      )
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'a time')
      .replaceAll(new RegExp(Object.keys(names).join('|'), 'g'), (name) => names[name] ?? name)
  return answers.map(({ id, status, headers, body }) => {
    const shown = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
    const header = (name: string) => shown.find(([one]) => one === name)?.[1]
    const { instance, detail: _, ...members } = body ?? {}
    return {
      id,
      status,
      location: known(header('location') ?? ''),
      hasTag: header('etag') !== undefined,
      // Node's client gives no body for a 424 that it never sent.
      body: status === 424 ? '' : known(JSON.stringify(members)),
    }
  })
}

const anyPlace = fc.integer({ min: 0, max: 5 })
const anyMatch = fc.constantFrom({}, {}, {}, { 'If-Match': '*' }, { 'If-Match': '"of another one"' })

type Shape = (at: number, owner: string) => Part

/** Requests of an owner, most of which use what earlier ones have made. */
const anyShape: fc.Arbitrary<Shape> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Shape>((at, ownerId) => make(at, 'projects', { ownerId })) },
  {
    weight: 4,
    arbitrary: anyPlace.map(
      (to): Shape =>
        (at, ownerId) =>
          make(at, 'tasks', { ownerId, parentId: ref(at, to) }),
    ),
  },
  {
    weight: 2,
    arbitrary: anyPlace.map(
      (to): Shape =>
        (at, ownerId) =>
          make(at, 'tasks', { ownerId, projectId: ref(at, to) }),
    ),
  },
  fc.constantFrom<Shape>(
    (at) => make(at, 'tasks', { ownerId: 'somebody' }),
    (at, ownerId) => make(at, 'tasks', { ownerId, unknown: 1 }),
    (at) => ({ id: `r${at}`, method: 'GET', path: '/nowhere' }),
    (at) => ({ id: `r${at}`, method: 'PUT', path: '/projects' }),
    (at) => ({ id: `r${at}`, method: 'GET', path: '/tasks?sort=-id&limit=3' }),
    (at) => ({ id: `r${at}`, method: 'HEAD', path: '/tasks' }),
  ),
  {
    weight: 4,
    arbitrary: fc
      .tuple(anyPlace, anyPlace, anyMatch, fc.constantFrom('PUT', 'PATCH', 'GET', 'DELETE'), fc.boolean())
      .map(
        ([object, to, headers, method, isTask]): Shape =>
          (at, ownerId) => {
            const path = `/${isTask ? 'tasks' : 'projects'}/${inPath(at, object)}`
            const body = isTask ? { ownerId, seenWith: ref(at, to) } : { ownerId }
            return { id: `r${at}`, method, path, headers, ...(method.startsWith('P') && { body }) }
          },
      ),
  },
)

export const anyRequests = fc.array(anyShape, { minLength: 1, maxLength: 8 })

/** A project, a task in it, and so on; then changes of them, all of which can be done. */
export const anyRequestsThatFit: fc.Arbitrary<readonly Shape[]> = fc
  .tuple(
    fc.integer({ min: 1, max: 5 }),
    fc.array(fc.tuple(anyPlace, anyPlace, fc.constantFrom('PUT', 'PATCH', 'GET')), { maxLength: 4 }),
  )
  .map(([pairs, changes]) => [
    ...Array.from({ length: pairs }, (): readonly Shape[] => [
      (at, ownerId) => make(at, 'projects', { ownerId }),
      (at, ownerId) => make(at, 'tasks', { ownerId, projectId: { $ref: `r${at - 1}.id` } }),
    ]).flat(),
    ...changes.map(
      ([object, to, method]): Shape =>
        (at, ownerId) => {
          const [one, other] = [object, to].map((place) => `r${2 * (place % pairs) + 1}.id`)
          const body = { ownerId, parentId: { $ref: other } }
          return { id: `r${at}`, method, path: `/tasks/{${one}}`, ...(method !== 'GET' && { body }) }
        },
    ),
  ])

export function partsOf(shapes: readonly Shape[], owner: string): readonly Part[] {
  return shapes.map((shape, at) => shape(at, owner))
}

function make(at: number, resource: string, body: unknown): Part {
  return { id: `r${at}`, method: 'POST', path: `/${resource}`, body }
}

/** Of the first request there is none before. */
function ref(at: number, to: number): unknown {
  return at === 0 ? 'missing' : { $ref: `r${to % at}.id` }
}

function inPath(at: number, to: number): string {
  return at === 0 ? 'missing' : `{r${to % at}.id}`
}
