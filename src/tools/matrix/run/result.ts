/**
 * The result of a cell or a case, and the parts of a request that a report may show. Unexpected results are grouped by
 * cause: one line of the policy may cause many wrong cells.
 */
import type { Place } from '../../../base/diagnostic.ts'
import type { Expectation } from '../read/expectation.ts'
import type { HttpAnswer, HttpRequest } from '../target/http.ts'

/** `impossible`: could not be tried; doesn't count as a pass. `left-out`: the run ended before its turn. */
export type TestOutcome = 'passed' | 'failed' | 'impossible' | 'left-out'

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
  readonly outcome: TestOutcome
  /** One sentence, for all but passed ones. */
  readonly why?: string
  /** For failed ones: the rules behind the answer, as in `policy.csv:29 allows it`, if the policy files show them. */
  readonly cause?: string
  /** Where to look next, as a command; for failed ones. */
  readonly explain?: string
  /** For failed ones: the requests and their answers, in order. */
  readonly exchanges: readonly Exchange[]
  readonly milliseconds: number
  /** Of cells. */
  readonly expectation?: Expectation
  /** For cells that were answered. */
  readonly status?: number
}

/** In characters: the longest part of a body that a report shows. */
const LONGEST_TEXT = 4000

export function exchangeOf({ method, url, token, body, headers = {} }: HttpRequest, answer?: HttpAnswer): Exchange {
  const sent = { ...(token === undefined ? {} : { authorization: 'Bearer ***' }), ...headers }
  const request = { method, url, headers: sent, ...(body === undefined ? {} : { body }) }
  if (!answer) return { request }
  // The server may repeat the token in its answer, so the token is masked here.
  const clean = (value: string) => (token === undefined ? value : value.replaceAll(token, '***'))
  const received = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, clean(value)]))
  return {
    request,
    answer: { status: answer.status, headers: received, text: clean(answer.text).slice(0, LONGEST_TEXT) },
  }
}

export interface Run {
  /** Where it ran: the address of the deployment, or undefined for this process. */
  readonly url: string | undefined
  /** RFC 3339, UTC. */
  readonly startedAt: string
  readonly milliseconds: number
  /** In the order of files and rows. */
  readonly results: readonly Result[]
  /** Problems with the clean-up and similar remarks, one sentence each. */
  readonly remarks: readonly string[]
}

export type Counts = Readonly<Record<TestOutcome, number>>

export function countOf(results: readonly Result[]): Counts {
  const counts = { passed: 0, failed: 0, impossible: 0, 'left-out': 0 }
  for (const { outcome } of results) counts[outcome]++
  return counts
}

/** By file, in their order. */
export function countsByFile(results: readonly Result[]): ReadonlyMap<string, Counts> {
  return new Map([...Map.groupBy(results, ({ place }) => place.file)].map(([file, some]) => [file, countOf(some)]))
}

export function isGreen({ results }: Run): boolean {
  return results.every(({ outcome }) => outcome === 'passed')
}

export const OUTCOME_WORDS: Readonly<Record<TestOutcome, string>> = {
  passed: 'as expected',
  failed: 'wrong',
  impossible: "can't be tried",
  'left-out': 'left out',
}

export function placeOf({ place: { file, line, column } }: Result): string {
  return `${file}:${line}:${column}`
}

/** `wrong`: another answer came; `untried`: no answer to compare. */
export interface Cause {
  readonly kind: 'wrong' | 'untried'
  /** Identifies the cause, as in `policy.csv:29 allows it`; one sentence if no line is the cause. */
  readonly name: string
  /** In the order of the run; at least one. */
  readonly results: readonly [Result, ...Result[]]
}

/** Wrong ones first, by the first line of the policy that they name; then those that could not be tried. */
export function causesOf(results: readonly Result[]): readonly Cause[] {
  const wrong = groups('wrong', results, 'failed', ({ cause, why = '' }) => cause ?? why)
  const untried = groups('untried', results, 'impossible', ({ why = '' }) => why)
  return [...wrong.toSorted((a, b) => lineOf(a) - lineOf(b)), ...untried]
}

/** One sentence about all of a cause, as in `policy.csv:29 allows it: 35 wrong, expected 403, got 200`. */
export function sentenceOf({ kind, name, results }: Cause): string {
  if (kind === 'untried') return `${results.length} ${name}`
  const answers = Map.groupBy(results, answerOf)
  const told = [...answers].map(([answer, some]) => (answers.size > 1 ? `${answer} (${some.length})` : answer))
  return `${name}: ${[`${results.length} wrong`, ...told.filter((answer) => answer !== '').sort()].join(', ')}`
}

function groups(
  kind: Cause['kind'],
  results: readonly Result[],
  outcome: Result['outcome'],
  nameOf: (result: Result) => string,
): readonly Cause[] {
  const found = Map.groupBy(
    results.filter((result) => result.outcome === outcome),
    nameOf,
  )
  return [...found].flatMap(([name, [first, ...more]]) => (first ? [{ kind, name, results: [first, ...more] }] : []))
}

/** Empty if the cause's name already says it. */
function answerOf({ cause, expectation, status }: Result): string {
  if (cause === undefined || !expectation || status === undefined) return ''
  if (status === expectation.expected.status) return 'other rows or fields than expected'
  return `expected ${expectation.expected.status}, got ${status}`
}

/** Causes without a line come last. */
function lineOf({ name, results: [{ cause }] }: Cause): number {
  const line = cause === undefined ? undefined : /policy\.csv:(\d+)/.exec(name)?.[1]
  return line === undefined ? Number.MAX_SAFE_INTEGER : Number(line)
}
