/** Tries one cell on a target: sets it up, asks, reads all pages of a list, and judges the answer. */

import { isObject } from '../../../base/is-object.ts'
import type { Method, Representation, Resource, Route } from '../../../resources/resource.ts'
import { answerFault, type GivenAnswer } from '../predict/compare-answer.ts'
import { shownBy } from '../predict/predict.ts'
import type { Suite } from '../predict/suite.ts'
import { type Expectation, isUnconditional } from '../read/expectation.ts'
import type { HttpAnswer, HttpRequest } from '../target/http.ts'
import { CannotSetUp, type TargetPool, type TestTarget } from '../target/test-target.ts'
import type { CellOnTarget } from './bind.ts'
import { type BoundExpectation, bind } from './bind.ts'
import { answered, impossible, type TrialResult } from './result.ts'
import { tryEvent } from './run-event.ts'
import { tryOnTarget } from './run-trials.ts'
import { type CellSetup, setUpCell } from './set-up.ts'
import { explainCommand, rulesBehind } from './why-wrong.ts'

/** Rejects only for a bug in this program; a trial that isn't possible is a result. */
export async function runCell(
  suite: Suite,
  pool: Pick<TargetPool, 'lend'>,
  expectation: Expectation,
): Promise<TrialResult> {
  const binding = bind(suite, expectation)
  if (binding.kind === 'unusable') return impossible(binding.why)
  const tryIt = expectation.event ? tryEvent : tryBound
  return tryOnTarget(pool, expectation, (target) => tryIt({ suite, target, bound: binding.bound }))
}

async function tryBound(cell: CellOnTarget): Promise<TrialResult> {
  const { suite, target, bound } = cell
  const { expectation, route, resource } = bound
  const { method, expected } = expectation
  const setup = await setUpCell(cell)
  const { caller, path, id, body } = setup
  const query = looksIntoList(bound) ? `?limit=${suite.policy.limits.page.max}` : ''
  const unconditional = isUnconditional(expectation)
  const { request, answer } = await askOn(
    target,
    { route, resource, method, id, unconditional, wanted: expected.status },
    { method, url: target.url + path + query, token: caller?.token, body },
  )
  const rows = looksIntoList(bound) && answer.status === 200 ? await readAllRows(target, request, answer) : undefined
  const why = answerFault(expected, givenIn(cell, setup, { answer, rows }))
  if (why === undefined) return answered(request, answer, why)
  const rules = looksIntoList(bound) ? undefined : rulesBehind(cell, setup, answer.status)
  const where = { ...(rules !== undefined && { cause: rules }), explain: explainCommand(suite, expectation) }
  return answered(request, answer, rules === undefined ? why : `${why}; ${rules}`, where)
}

function looksIntoList({ endpoint, expectation }: BoundExpectation): boolean {
  const { expected, method } = expectation
  return endpoint?.operation === 'list' && method === 'GET' && (expected.list ?? expected.view) !== undefined
}

/** What a matrix can state of the answer. `rows`: of all pages of a list. */
function givenIn(
  { suite: { policy }, bound: { expectation, resource } }: CellOnTarget,
  { placed, caller }: CellSetup,
  { answer, rows }: { readonly answer: HttpAnswer; readonly rows: readonly Representation[] | undefined },
): GivenAnswer {
  const shown = rows ?? (isObject(answer.json) ? [answer.json] : [])
  const objects = placed.map(({ object }) => object)
  const objectsIn = (row: Representation) =>
    shown.length === 1 && objects.length === 1 ? objects : shownBy(row, objects, resource)
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

interface Asked {
  readonly route: Route
  readonly resource: Resource
  readonly method: Method
  /** The id in the path, percent-encoded; undefined for the caller's own record. */
  readonly id: string | undefined
  /** Sent without `If-Match`, whatever the route requires. */
  readonly unconditional?: boolean
  /** An answer with this status is final: the request isn't sent again. */
  readonly wanted: number
}

/**
 * Sends the request of a trial, with the current tag of the object if the route requires a precondition. Returns what was
 * sent, and its answer. Throws NoAnswer.
 */
export async function askOn(
  target: TestTarget,
  asked: Asked,
  plain: HttpRequest,
): Promise<{ readonly request: HttpRequest; readonly answer: HttpAnswer }> {
  const request = asked.unconditional ? plain : { ...plain, headers: await ifMatchOf(target, asked, plain) }
  const answer = await target.ask(request, asked.wanted)
  await target.note(asked.resource.name, answer, request.token)
  return { request, answer }
}

/** Methods that a precondition guards. */
const GUARDED: readonly Method[] = ['PUT', 'PATCH', 'DELETE', 'POST']

/**
 * The current tag, which this caller reads; `*` if the caller may not read the object. Empty if the route requires no
 * precondition.
 */
async function ifMatchOf(
  target: TestTarget,
  { route, resource, method, id }: Asked,
  { url, token }: Pick<HttpRequest, 'url' | 'token'>,
): Promise<Readonly<Record<string, string>>> {
  if (route.precondition !== 'required' || !GUARDED.includes(method)) return {}
  const item = resource.canonicalItemPath
  const path = id === undefined || item === undefined ? undefined : item.replace('{id}', () => id)
  const readable = route.endpoints.has('GET') ? url : path && target.url + path
  const answer = readable === undefined ? undefined : await target.ask({ method: 'GET', url: readable, token })
  return { 'if-match': answer?.headers.etag ?? '*' }
}
