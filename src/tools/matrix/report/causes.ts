/** The unexpected results, by cause: one line of the policy may cause many wrong cells. */
import type { Result, TestOutcome } from '../run/result.ts'

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
