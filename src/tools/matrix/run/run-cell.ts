/** Tries one cell on a target: sets it up, asks, and judges the answer. */
import { explainCommand } from '../cells/explain-command.ts'
import type { Suite } from '../predict/suite.ts'
import {
  columnText,
  type Expectation,
  expectedText,
  isUnconditional,
  objectText,
  whenText,
} from '../read/expectation.ts'
import { transitionText } from '../read/transition.ts'
import { type HttpRequest, NoAnswer } from '../target/http.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'
import { type BoundExpectation, bind } from './bind.ts'
import { judge } from './judge.ts'
import { readAllRows } from './read-rows.ts'
import { exchangeOf, type Result } from './result.ts'
import { rulesBehind } from './rules-behind.ts'
import { type CellSetup, ifMatchOf, setUpCell } from './set-up.ts'

type Tried = Pick<Result, 'outcome' | 'why' | 'cause' | 'exchanges' | 'status'>

/** Rejects only for a bug in this program; a trial that isn't possible is a result. */
export async function runCell(suite: Suite, target: TestTarget, expectation: Expectation): Promise<Result> {
  const started = performance.now()
  const tried = await tryCell(suite, target, expectation)
  const failed = tried.outcome === 'failed'
  return {
    kind: 'cell',
    title: titleOf(expectation),
    place: expectation.place,
    ...tried,
    ...(failed ? { explain: explainCommand(suite, expectation) } : {}),
    milliseconds: performance.now() - started,
    expectation,
  }
}

/** The result of a cell for which there is no target. */
export function withoutTarget(expectation: Expectation, why: string): Result {
  const { place } = expectation
  return { kind: 'cell', title: titleOf(expectation), place, ...impossible(why), milliseconds: 0, expectation }
}

/** One line that identifies the cell. */
export function titleOf(expectation: Expectation): string {
  const { method, path, object, column, body, note, expected } = expectation
  const change = transitionText(expectation)
  const becomes = change === '' ? '' : `becomes ${change}`
  const file = body?.replace(/^.*[\\/]/, '')
  const about = [objectText(object), becomes, whenText(expectation), file, note].filter(Boolean).join(', ')
  return `${method} ${path} (${about}) as ${columnText(column)} is ${expectedText(expected)}`
}

async function tryCell(suite: Suite, target: TestTarget, expectation: Expectation): Promise<Tried> {
  const binding = bind(suite, expectation)
  if (binding.kind === 'unusable') return impossible(binding.why)
  try {
    return await tryBound(suite, target, binding.bound)
  } catch (error) {
    if (error instanceof CannotSetUp || error instanceof NoAnswer) return impossible(error.message)
    throw error
  }
}

async function tryBound(suite: Suite, target: TestTarget, bound: BoundExpectation): Promise<Tried> {
  const setup = await setUpCell(suite, target, bound)
  const request = await requestOf(suite, target, bound, setup)
  const answer = await target.ask(request, bound.expectation.expected.status)
  await target.note(bound.resource.name, answer, setup.caller?.token)
  const rows = looksIntoList(bound) && answer.status === 200 ? await readAllRows(target, request, answer) : undefined
  const why = judge(bound, setup, { answer, ...(rows ? { rows } : {}) })
  const { status } = answer
  if (why === undefined) return { outcome: 'passed', exchanges: [], status }
  const rules = looksIntoList(bound) ? undefined : rulesBehind(suite, bound, setup, status)
  const behind = rules === undefined ? { why } : { why: `${why}; ${rules}`, cause: rules }
  return { outcome: 'failed', ...behind, exchanges: [exchangeOf(request, answer)], status }
}

async function requestOf(
  { policy }: Suite,
  target: TestTarget,
  bound: BoundExpectation,
  { caller, path, id, body }: CellSetup,
): Promise<HttpRequest> {
  const { expectation, route, resource } = bound
  const { method } = expectation
  const query = looksIntoList(bound) ? `?limit=${policy.limits.page.max}` : ''
  const plain = { method, url: target.url + path + query, token: caller?.token, body }
  if (isUnconditional(expectation)) return plain
  return { ...plain, headers: await ifMatchOf(target, { route, resource, method, id }, plain) }
}

function looksIntoList({ endpoint, expectation }: BoundExpectation): boolean {
  const { expected, method } = expectation
  return endpoint?.operation === 'list' && method === 'GET' && (expected.list ?? expected.view) !== undefined
}

function impossible(why: string): Tried {
  return { outcome: 'impossible', why: `can't be tried: ${why}`, exchanges: [] }
}
