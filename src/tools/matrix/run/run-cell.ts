/** Tries one cell on a target: sets it up, asks, reads all pages of a list, and judges the answer. */
import { isObject } from '../../../base/is-object.ts'
import type { Representation } from '../../../resources/resource.ts'
import { answerFault, type GivenAnswer } from '../predict/compare-answer.ts'
import { objectsOf } from '../predict/predict.ts'
import type { Suite } from '../predict/suite.ts'
import {
  columnText,
  type Expectation,
  expectedText,
  isUnconditional,
  objectText,
  whenText,
} from '../read/expectation.ts'
import { transitionText } from '../read/words.ts'
import { type HttpAnswer, type HttpRequest, NoAnswer } from '../target/http.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'
import { type BoundExpectation, bind } from './bind.ts'
import { exchangeOf, type Result } from './result.ts'
import { type CellSetup, ifMatchOf, setUpCell } from './set-up.ts'
import { explainCommand, rulesBehind } from './why-wrong.ts'

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
  const why = answerFault(bound.expectation.expected, givenIn(suite, bound, setup, { answer, rows }))
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

/** What a matrix can state of the answer. `rows`: of all pages of a list. */
function givenIn(
  { policy }: Suite,
  { expectation, resource }: BoundExpectation,
  { placed, caller }: CellSetup,
  { answer, rows }: { readonly answer: HttpAnswer; readonly rows: readonly Representation[] | undefined },
): GivenAnswer {
  const shown = rows ?? (isObject(answer.json) ? [answer.json] : [])
  const objects = placed.map(({ object }) => object)
  const objectsIn = (row: Representation) =>
    shown.length === 1 && objects.length === 1 ? objects : objectsOf(row, objects, resource)
  const judged = shown.map((row) => ({ shown: row, objects: objectsIn(row) }))
  return {
    status: answer.status,
    method: expectation.method,
    // The views of objects that the run didn't make are none of its business.
    rows: expectation.expected.list
      ? judged
      : judged.filter(({ objects: its }) => shown.length === 1 || its.length > 0),
    isList: rows !== undefined,
    views: policy.views.get(resource.name),
    placed: () => placed,
    alone: caller?.fresh ?? false,
  }
}

/** How many pages of a list are read at most. No test makes a longer list. */
const MOST_PAGES = 500

/** `first`: the answer to the request. Throws NoAnswer, and CannotSetUp if a later page is refused. */
export async function readAllRows(
  target: TestTarget,
  request: HttpRequest,
  first: HttpAnswer,
): Promise<readonly Representation[]> {
  const rows: Representation[] = []
  const next = `${request.url}${request.url.includes('?') ? '&' : '?'}cursor=`
  let answer = first
  for (let page = 1; ; page++) {
    const { items = [], next: cursor = null } = (answer.json ?? {}) as {
      items?: readonly Representation[]
      next?: string | null
    }
    rows.push(...items)
    if (cursor === null || page === MOST_PAGES) return rows
    answer = await target.ask({ ...request, url: next + encodeURIComponent(cursor) })
    // Half a list would be judged as if it were the whole.
    if (answer.status !== 200) throw new CannotSetUp(`page ${page + 1} of the list answers ${answer.status}`)
  }
}
