/** Carries out the steps of a case on a target, until an answer isn't as expected. */
import { didYouMean } from '../../../base/did-you-mean.ts'
import { isObject } from '../../../base/is-object.ts'
import type { Resource } from '../../../resources/resource.ts'
import { createRouteMatcher } from '../../../resources/routing/match-route.ts'
import { readTarget } from '../../../resources/routing/request-target.ts'
import type { Suite } from '../predict/suite.ts'
import { type AnsweredStep, type Case, type FilledStep, UnknownName, walkSteps } from '../read/cases.ts'
import { columnText } from '../read/expectation.ts'
import { type HttpAnswer, type HttpRequest, idsIn, NoAnswer } from '../target/http.ts'
import { CannotSetUp, type TestCaller, type TestTarget } from '../target/test-target.ts'
import { unknownView } from './bind.ts'
import { type Exchange, exchangeOf, impossible, type TrialResult } from './result.ts'
import { readAllRows } from './run-cell.ts'

/** Rejects only for a bug in this program; a trial that isn't possible is a result. */
export async function runCase(suite: Suite, target: TestTarget, one: Case): Promise<TrialResult> {
  const exchanges: Exchange[] = []
  try {
    const callers = await callersOf(suite, target, one)
    const match = createRouteMatcher(suite.resources.routes)
    const run = { suite, target, callers: [...callers.values()], match, exchanges }
    const why = await walkSteps(one, callers, (filled) => carryOut(run, filled))
    return why === undefined ? { outcome: 'passed', exchanges: [] } : { outcome: 'failed', why, exchanges }
  } catch (error) {
    const known = error instanceof CannotSetUp || error instanceof NoAnswer || error instanceof UnknownName
    if (!known) throw error
    return impossible(error.message, exchanges)
  }
}

/** Two names in one case are two callers. */
async function callersOf(
  suite: Suite,
  target: TestTarget,
  { callers }: Case,
): Promise<ReadonlyMap<string, TestCaller>> {
  const made = new Map<string, TestCaller>()
  for (const [name, column] of callers) {
    const unknown = column.kind === 'roles' ? column.roles.find((role) => !suite.policy.roles.has(role)) : undefined
    if (unknown !== undefined)
      throw new CannotSetUp(
        `roles.yaml declares no role \`${unknown}\`${didYouMean(unknown, suite.policy.roles.keys())}`,
      )
    const caller = await target.caller(column)
    const same = [...made].find(([, { id }]) => id === caller.id)
    if (same)
      throw new CannotSetUp(
        `\`${same[0]}\` and \`${name}\` would be the same caller, because there is only one for ${columnText(column)}`,
      )
    made.set(name, caller)
  }
  return made
}

interface CaseRun {
  readonly suite: Suite
  readonly target: TestTarget
  /** All callers of the case. */
  readonly callers: readonly TestCaller[]
  readonly match: ReturnType<typeof createRouteMatcher>
  readonly exchanges: Exchange[]
}

async function carryOut(run: CaseRun, filled: FilledStep<TestCaller>): Promise<AnsweredStep> {
  const { suite, target, match, exchanges } = run
  const { step, path, body, caller } = filled
  refuseChangeOfOthers(run, filled)
  const found = match('GET', readTarget(path))
  const resource = 'route' in found ? suite.resources.byName.get(found.route.resource) : undefined
  const view = step.expect.view === undefined ? undefined : viewOf(suite, resource, step.expect.view)
  const token = caller?.token
  const request: HttpRequest = { method: step.method, url: target.url + path, token, body, headers: step.headers ?? {} }
  const answer = await target.ask(request, step.expect.status)
  exchanges.push(exchangeOf(request, answer))
  if (resource) await target.note(resource.name, answer, token)
  const whole = step.expect.rows ? await withAllRows(target, request, answer) : answer
  return { ...whole, made: answer.status === 201 ? idsIn(answer) : [], view }
}

/** The same answer with the rows of all pages; unchanged if it isn't a list. */
async function withAllRows(target: TestTarget, request: HttpRequest, answer: HttpAnswer): Promise<HttpAnswer> {
  const { json } = answer
  if (!isObject(json) || !Array.isArray(json.items)) return answer
  return { ...answer, json: { ...json, items: await readAllRows(target, request, answer) } }
}

function viewOf({ policy }: Suite, resource: Resource | undefined, view: string): ReadonlySet<string> {
  const fields = resource && policy.views.get(resource.name)?.get(view)
  if (fields) return fields
  throw new CannotSetUp(
    resource
      ? unknownView(policy, resource.name, view)
      : `the path is of no resource, so it has no view \`${view}\`: remove the view`,
  )
}

/** Throws CannotSetUp for a change of an object that the case didn't create, unless all its callers are new. */
function refuseChangeOfOthers(
  { callers, match }: CaseRun,
  { step: { method }, path, caller, created }: FilledStep<TestCaller>,
): void {
  if (!['PUT', 'PATCH', 'DELETE'].includes(method) || callers.every(({ fresh }) => fresh)) return
  const found = match(method, readTarget(path))
  if (found.kind !== 'route' || found.route.kind === 'collection') return
  const id = found.route.kind === 'caller' ? caller?.id : found.id
  if (id === undefined || created.has(id)) return
  throw new CannotSetUp(
    `${id} of ${found.route.resource} may be older than this run, so no request that could change it is sent`,
  )
}
