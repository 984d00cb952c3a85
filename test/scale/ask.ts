/** One request of a client of the scale tests, and its answer. */
import type { Instance } from './cluster.ts'

/** One request with its answer. Times are milliseconds by the clock of the tests. */
export interface Operation {
  readonly client: string
  readonly instance: string
  readonly kind: 'create' | 'update' | 'probe' | 'flood' | 'keep'
  /** What a write writes, as its decision record shows it; each is written by one operation and its repeats. */
  readonly title?: string
  readonly sentAt: number
  readonly endedAt: number
  /** 0 without an answer. */
  readonly status: number
  readonly code?: string | undefined
  /** Of a create that was answered. */
  readonly id?: string | undefined
  readonly revision?: string | undefined
  readonly sequence: number
  /** What the client asked for in Policy-Sequence-At-Least. */
  readonly atLeast: number
}

export type Wanted = Pick<Operation, 'client' | 'kind' | 'title'> & {
  readonly method: string
  readonly path: string
  readonly body?: object
  readonly key?: string
  readonly atLeast?: number
}

export const isWrite = ({ kind }: Operation) => kind === 'create' || kind === 'update'
export const isDone = ({ status }: Operation) => status >= 200 && status < 300

/** Whether the request was decided by an older version than it asked for. */
export const isByOlderPolicy = ({ status, sequence, atLeast }: Operation) =>
  (status === 403 || (status >= 200 && status < 300)) && sequence < atLeast

export const PATIENCE_MS = 20_000

/** Asks once; never throws. */
export async function ask(wanted: Wanted, instance: Instance, token: string): Promise<Operation> {
  const { client, kind, title, atLeast = 0 } = wanted
  const sentAt = performance.now()
  const { status, code, headers } = await answerTo(wanted, instance, token)
  return {
    client,
    instance: instance.name,
    kind,
    ...(title === undefined ? {} : { title }),
    sentAt,
    endedAt: performance.now(),
    status,
    code,
    id: headers?.get('location')?.split('/').at(-1),
    revision: headers?.get('policy-revision') ?? undefined,
    sequence: Number(headers?.get('policy-sequence') ?? 0),
    atLeast,
  }
}

async function answerTo({ method, path, body, key, atLeast }: Wanted, { url }: Instance, token: string) {
  try {
    const answer = await fetch(url + path, {
      method,
      signal: AbortSignal.timeout(PATIENCE_MS),
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }),
        ...(key && { 'idempotency-key': `"${key}"` }),
        ...(atLeast && { 'policy-sequence-at-least': `${atLeast}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const code: string | undefined = answer.status >= 400 ? JSON.parse(text).code : undefined
    return { status: answer.status, headers: answer.headers, code }
  } catch {
    return { status: 0, code: undefined, headers: undefined }
  }
}
