/** Carries out the steps of a case on a target, until an answer isn't as expected. */
import { didYouMean } from '../../../base/did-you-mean.ts'
import { isObject } from '../../../base/is-object.ts'
import type { Json, Resource, Resources } from '../../../resources/resource.ts'
import { createRouteMatcher } from '../../../resources/routing/match-route.ts'
import { readTarget } from '../../../resources/routing/request-target.ts'
import type { Suite } from '../predict/suite.ts'
import {
  bodyOf,
  type Case,
  fillIn,
  judgeStep,
  rowsFault,
  type Step,
  type StepAnswer,
  saveParts,
  UnknownName,
} from '../read/cases.ts'
import { columnText } from '../read/expectation.ts'
import { type HttpAnswer, type HttpRequest, idsIn, NoAnswer } from '../target/http.ts'
import { CannotSetUp, type TestCaller, type TestTarget } from '../target/test-target.ts'
import { unknownView } from './bind.ts'
import { type Exchange, exchangeOf, type Result } from './result.ts'
import { readAllRows } from './run-cell.ts'

type Tried = Pick<Result, 'outcome' | 'why' | 'exchanges'>

/** Rejects only for a bug in this program; a trial that isn't possible is a result. */
export async function runCase(suite: Suite, target: TestTarget, one: Case): Promise<Result> {
  const started = performance.now()
  const tried = await tryCase(suite, target, one)
  return { kind: 'case', title: one.name, place: one.place, ...tried, milliseconds: performance.now() - started }
}

async function tryCase(suite: Suite, target: TestTarget, one: Case): Promise<Tried> {
  const exchanges: Exchange[] = []
  try {
    const callers = await callersOf(suite, target, one)
    const names = new Map([...callers].map(([name, { id }]): [string, Json] => [name, id]))
    const created = new Set<string>()
    for (const [i, step] of one.steps.entries()) {
      const why = await carryOut({ suite, target, callers, names, created, exchanges }, step)
      if (why !== undefined)
        return {
          outcome: 'failed',
          why: `step ${i + 1} (${step.method} ${step.path} as ${step.as}): ${why}`,
          exchanges,
        }
    }
    return { outcome: 'passed', exchanges: [] }
  } catch (error) {
    const known = error instanceof CannotSetUp || error instanceof NoAnswer || error instanceof UnknownName
    if (!known) throw error
    return { outcome: 'impossible', why: `can't be tried: ${error.message}`, exchanges }
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
  readonly callers: ReadonlyMap<string, TestCaller>
  /** Ids of callers, and what steps saved. */
  readonly names: Map<string, Json>
  /** Ids of the objects that steps created. */
  readonly created: Set<string>
  readonly exchanges: Exchange[]
}

/** The difference; undefined for an answer as expected. The parts of such an answer are saved. */
async function carryOut(run: CaseRun, step: Step): Promise<string | undefined> {
  const { suite, target, callers, names, created, exchanges } = run
  const path = fillIn(names, step.path, encodeURIComponent)
  const caller = callers.get(step.as)
  refuseChangeOfOthers(
    { method: step.method, path, caller },
    { resources: suite.resources, callers: callers.values(), created },
  )
  const resource = resourceAt(suite, path)
  const view = step.expect.view === undefined ? undefined : viewOf(suite, resource, step.expect.view)
  const token = caller?.token
  const body = bodyOf(names, step)
  const request: HttpRequest = { method: step.method, url: target.url + path, token, body, headers: step.headers ?? {} }
  const answer = await target.ask(request, step.expect.status)
  exchanges.push(exchangeOf(request, answer))
  if (answer.status === 201) for (const id of idsIn(answer)) created.add(id)
  if (resource) await target.note(resource.name, answer, token)
  const whole = step.expect.rows ? await withAllRows(target, request, answer) : answer
  const fault = judgeStep(step.expect, answer, view) ?? rowsFault(names, step.expect, whole, created)
  return fault ?? saveParts(names, step, answer)
}

/** The same answer with the rows of all pages; unchanged if it isn't a list. */
async function withAllRows(target: TestTarget, request: HttpRequest, answer: HttpAnswer): Promise<StepAnswer> {
  const isList = isObject(answer.json) && Array.isArray(answer.json.items)
  return isList ? { ...answer, json: { items: await readAllRows(target, request, answer) } } : answer
}

function resourceAt({ resources }: Suite, path: string): Resource | undefined {
  const match = createRouteMatcher(resources.routes)('GET', readTarget(path))
  return 'route' in match ? resources.byName.get(match.route.resource) : undefined
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

interface Attempt {
  readonly method: string
  readonly path: string
  readonly caller: TestCaller | undefined
}

interface Spared {
  readonly resources: Resources
  /** All callers of the case. */
  readonly callers: Iterable<TestCaller>
  /** Ids of the objects that steps of the case created. */
  readonly created: ReadonlySet<string>
}

/** Throws CannotSetUp for a change of an object that the case didn't create, unless all its callers are new. */
function refuseChangeOfOthers({ method, path, caller }: Attempt, { resources, callers, created }: Spared): void {
  if (!['PUT', 'PATCH', 'DELETE'].includes(method) || [...callers].every(({ fresh }) => fresh)) return
  const match = createRouteMatcher(resources.routes)(method, readTarget(path))
  if (match.kind !== 'route' || match.route.kind === 'collection') return
  const id = match.route.kind === 'caller' ? caller?.id : match.id
  if (id === undefined || created.has(id)) return
  throw new CannotSetUp(
    `${id} of ${match.route.resource} may be older than this run, so no request that could change it is sent`,
  )
}
