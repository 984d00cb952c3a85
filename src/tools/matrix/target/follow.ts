/** Follows a stream of events (docs/events.md) for as long as one cell needs, and no longer. */
import { isObject } from '../../../base/is-object.ts'
import type { Representation } from '../../../resources/resource.ts'
import { type HttpRequest, NoAnswer } from './http.ts'
import { CannotSetUp, type FollowedEvents, type HeardEvent } from './test-target.ts'

/** In milliseconds: the longest that a stream is followed. An event comes within a second. */
const LONGEST_MS = 10_000

/** In characters: more can't be one event of an object that the run made. */
const LONGEST_EVENT = 2 * 1024 * 1024

export async function follow({ url, token, headers = {} }: HttpRequest): Promise<FollowedEvents> {
  const ending = new AbortController()
  const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(LONGEST_MS)])
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(url, { signal, redirect: 'manual', headers: { ...authorization, ...headers } }).catch(
    (error: unknown) => {
      throw new NoAnswer(url, error)
    },
  )
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (response.status !== 200 || !isStream || !response.body) {
    ending.abort()
    throw new CannotSetUp(`the stream of events was opened once, and the next time it answered ${response.status}`)
  }
  const events = eventsIn(response.body, signal)
  return {
    next: async () => (await events.next()).value ?? undefined,
    end: () => ending.abort(),
  }
}

async function* eventsIn(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<HeardEvent, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const piece of body) {
      const blocks = (rest + decoder.decode(piece, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      yield* blocks.flatMap((block) => eventIn(block) ?? [])
      if (rest.length > LONGEST_EVENT) return undefined
    }
  } catch (error) {
    // A server that breaks the stream off tells no more, too.
    if (!signal.aborted && !(error instanceof TypeError)) throw error
  }
  return undefined
}

/** Undefined for a mark, which is an id alone. */
function eventIn(block: string): HeardEvent | undefined {
  const fields = new Map(block.split('\n').map((line) => [line.replace(/:.*$/s, ''), line.replace(/^[^:]*: ?/, '')]))
  const [kind, data] = [fields.get('event'), fields.get('data')]
  if (kind === undefined || data === undefined) return undefined
  const json: unknown = JSON.parse(data)
  return { kind, data: isObject(json) ? (json as Representation) : {} }
}
