/** What became of a cell or a case. Types, and what a report may show of a request. */
import type { Place } from '../../../base/diagnostic.ts'
import type { Expectation } from '../read/expectation.ts'
import type { HttpAnswer, HttpRequest } from '../target/http.ts'

/** `impossible`: it could not be tried, which is no pass. `left-out`: the run ended before its turn. */
export type Outcome = 'passed' | 'failed' | 'impossible' | 'left-out'

/** A request and its answer, without the token. */
export interface Exchange {
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: unknown
  }
  readonly answer?: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly text: string
  }
}

export interface Result {
  readonly kind: 'cell' | 'case'
  readonly title: string
  readonly place: Place
  readonly outcome: Outcome
  /** One sentence, for all but passed ones. */
  readonly why?: string
  /** The rules behind the answer, as in `policy.csv:29 allows it`; of failed ones, where the policy files tell. */
  readonly cause?: string
  /** Where to look next, as a command; for failed ones. */
  readonly explain?: string
  /** Of failed ones; what was sent and answered, in order. */
  readonly exchanges: readonly Exchange[]
  readonly milliseconds: number
  /** Of cells. */
  readonly expectation?: Expectation
  /** Of cells that were answered. */
  readonly status?: number
}

/** More of a body than this isn't for reading. Characters. */
const LONGEST_TEXT = 4000

export function exchangeOf({ method, url, token, body, headers = {} }: HttpRequest, answer?: HttpAnswer): Exchange {
  const sent = { ...(token === undefined ? {} : { authorization: 'Bearer ***' }), ...headers }
  const request = { method, url, headers: sent, ...(body === undefined ? {} : { body }) }
  if (!answer) return { request }
  // A server that repeats the token is no reason to pass it on.
  const clean = (value: string) => (token === undefined ? value : value.replaceAll(token, '***'))
  const received = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, clean(value)]))
  return {
    request,
    answer: { status: answer.status, headers: received, text: clean(answer.text).slice(0, LONGEST_TEXT) },
  }
}
