/**
 * The result of a trial (a cell, a case, an attack), and the parts of a request that a report may show. Unexpected
 * results are grouped by cause: one line of the policy may cause many wrong cells.
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

/** What became of a trial. */
export interface TrialResult {
  readonly outcome: TestOutcome
  /** One sentence, for all but passed ones. */
  readonly why?: string
  /** For failed ones: the rules behind the answer, as in `policy.csv:29 allows it`, if the policy files show them. */
  readonly cause?: string
  /** Where to look next, as a command; for failed ones. */
  readonly explain?: string
  /** For failed ones: the requests and their answers, in order. */
  readonly exchanges: readonly Exchange[]
  /** For requests that were answered; a case has several. */
  readonly status?: number
  /** The status that the policy gives, where it is predicted during the run. */
  readonly predicted?: number
}

export interface Timed extends TrialResult {
  readonly milliseconds: number
}

/** A cell, or a case. */
export interface CellOrCase {
  readonly kind: 'cell' | 'case'
  readonly title: string
  readonly place: Place
  /** Of cells. */
  readonly expectation?: Expectation
}

export type Result = CellOrCase & Timed

export const LEFT_OUT: Timed = {
  outcome: 'left-out',
  why: 'the run ended before its turn',
  exchanges: [],
  milliseconds: 0,
}

export function impossible(why: string, exchanges: readonly Exchange[] = []): TrialResult {
  return { outcome: 'impossible', why: `can't be tried: ${why}`, exchanges }
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

/** Of a request that was answered; without `why`, as expected. */
export function answered(
  request: HttpRequest,
  answer: HttpAnswer,
  why: string | undefined,
  where: Pick<TrialResult, 'cause' | 'explain'> = {},
): TrialResult {
  const { status } = answer
  if (why === undefined) return { outcome: 'passed', exchanges: [], status }
  return { outcome: 'failed', why, ...where, exchanges: [exchangeOf(request, answer)], status }
}

export interface Run<R extends Timed = Result> {
  /** Where it ran: the address of the deployment, or undefined for this process. */
  readonly url: string | undefined
  /** RFC 3339, UTC. */
  readonly startedAt: string
  readonly milliseconds: number
  /** In the order of files and rows. */
  readonly results: readonly R[]
  /** Problems with the clean-up and similar remarks, one sentence each. */
  readonly remarks: readonly string[]
}

export type OutcomeCounts = Readonly<Record<TestOutcome, number>>

export function countOf(results: readonly TrialResult[]): OutcomeCounts {
  const counts = { passed: 0, failed: 0, impossible: 0, 'left-out': 0 }
  for (const { outcome } of results) counts[outcome]++
  return counts
}

/** By file, in their order. */
export function countsByFile(results: readonly Result[]): ReadonlyMap<string, OutcomeCounts> {
  return new Map([...Map.groupBy(results, ({ place }) => place.file)].map(([file, some]) => [file, countOf(some)]))
}

export function isGreen({ results }: { readonly results: readonly TrialResult[] }): boolean {
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
export interface Cause<R extends TrialResult = Result> {
  readonly kind: 'wrong' | 'untried'
  /** Identifies the cause, as in `policy.csv:29 allows it`; one sentence if no line is the cause. */
  readonly name: string
  /** In the order of the run; at least one. */
  readonly results: readonly [R, ...R[]]
}

/** Wrong ones first, by the first line of the policy that they name; then those that could not be tried. */
export function causesOf<R extends TrialResult>(results: readonly R[]): readonly Cause<R>[] {
  const wrong = groups('wrong', results, 'failed', ({ cause, why = '' }) => cause ?? why)
  const untried = groups('untried', results, 'impossible', ({ why = '' }) => why)
  return [...wrong.toSorted((a, b) => lineOf(a) - lineOf(b)), ...untried]
}

/** One sentence about all of a cause, as in `policy.csv:29 allows it: 35 wrong, expected 403, got 200`. */
export function sentenceOf({ kind, name, results }: Cause<TrialResult & Partial<CellOrCase>>): string {
  if (kind === 'untried') return `${results.length} ${name}`
  const answers = Map.groupBy(results, answerOf)
  const wrong = [...answers].map(([answer, some]) => (answers.size > 1 ? `${answer} (${some.length})` : answer))
  return `${name}: ${[`${results.length} wrong`, ...wrong.filter((answer) => answer !== '').sort()].join(', ')}`
}

function groups<R extends TrialResult>(
  kind: Cause['kind'],
  results: readonly R[],
  outcome: TestOutcome,
  nameOf: (result: R) => string,
): readonly Cause<R>[] {
  const found = Map.groupBy(
    results.filter((result) => result.outcome === outcome),
    nameOf,
  )
  return [...found].flatMap(([name, [first, ...more]]) => (first ? [{ kind, name, results: [first, ...more] }] : []))
}

/** Empty if the cause's name already says it. */
function answerOf({ cause, expectation, status }: TrialResult & Partial<CellOrCase>): string {
  if (cause === undefined || !expectation || status === undefined) return ''
  if (status === expectation.expected.status) return 'other rows or fields than expected'
  return `expected ${expectation.expected.status}, got ${status}`
}

/** Causes without a line come last. */
function lineOf({ name, results: [{ cause }] }: Cause<TrialResult>): number {
  const line = cause === undefined ? undefined : /policy\.csv:(\d+)/.exec(name)?.[1]
  return line === undefined ? Number.MAX_SAFE_INTEGER : Number(line)
}
