/** Carries the steps of a case out on a stage, up to the first that isn't answered as expected. */
import { didYouMean } from '../../../base/did-you-mean.ts'
import type { Json, Resource } from '../../../resources/resource.ts'
import { createRouteMatcher } from '../../../resources/routing/match-route.ts'
import { readTarget } from '../../../resources/routing/request-target.ts'
import type { Case, Step } from '../read/case.ts'
import { columnText } from '../read/expectation.ts'
import { fillIn, pointedAt, UnknownName } from '../read/saved-names.ts'
import { type HttpAnswer, type HttpRequest, NoAnswer } from '../target/http.ts'
import { type Caller, CannotSetUp, type Stage } from '../target/server-under-test.ts'
import type { Ground } from './bind.ts'
import { judgeStep } from './judge-step.ts'
import { type Exchange, exchangeOf, type Result } from './result.ts'
import { refuseChangeOfOthers } from './spare.ts'

type Tried = Pick<Result, 'outcome' | 'why' | 'exchanges'>

/** Never rejects but for a fault of the program: what can't be tried is a result. */
export async function runCase(ground: Ground, stage: Stage, one: Case): Promise<Result> {
  const started = performance.now()
  const tried = await tryCase(ground, stage, one)
  return { kind: 'case', title: one.name, place: one.place, ...tried, milliseconds: performance.now() - started }
}

async function tryCase(ground: Ground, stage: Stage, one: Case): Promise<Tried> {
  const exchanges: Exchange[] = []
  try {
    const callers = await callersOf(ground, stage, one)
    const names = new Map([...callers].map(([name, { id }]): [string, Json] => [name, id]))
    const created = new Set<string>()
    for (const [i, step] of one.steps.entries()) {
      const why = await carryOut({ ground, stage, callers, names, created, exchanges }, step)
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

/** Two names of one case are two people. */
async function callersOf(ground: Ground, stage: Stage, { callers }: Case): Promise<ReadonlyMap<string, Caller>> {
  const made = new Map<string, Caller>()
  for (const [name, column] of callers) {
    const unknown = column.kind === 'roles' ? column.roles.find((role) => !ground.policy.roles.has(role)) : undefined
    if (unknown !== undefined)
      throw new CannotSetUp(
        `roles.yaml declares no role \`${unknown}\`${didYouMean(unknown, ground.policy.roles.keys())}`,
      )
    const caller = await stage.caller(column)
    const same = [...made].find(([, { id }]) => id === caller.id)
    if (same)
      throw new CannotSetUp(
        `\`${same[0]}\` and \`${name}\` would be one caller, the only one with ${columnText(column)}`,
      )
    made.set(name, caller)
  }
  return made
}

interface Scene {
  readonly ground: Ground
  readonly stage: Stage
  readonly callers: ReadonlyMap<string, Caller>
  /** Ids of callers, and what steps saved. */
  readonly names: Map<string, Json>
  /** Ids of what steps created. */
  readonly created: Set<string>
  readonly exchanges: Exchange[]
}

/** What differs; undefined for an answer as expected, whose parts are then saved. */
async function carryOut(scene: Scene, step: Step): Promise<string | undefined> {
  const { ground, stage, callers, names, created, exchanges } = scene
  const path = fillIn(names, step.path, encodeURIComponent)
  const caller = callers.get(step.as)
  refuseChangeOfOthers(
    { method: step.method, path, caller },
    { resources: ground.resources, callers: callers.values(), created },
  )
  const resource = resourceAt(ground, path)
  const view = step.expect.view === undefined ? undefined : viewOf(ground, resource, step.expect.view)
  const token = caller?.token
  const body =
    step.body === undefined ? undefined : (JSON.parse(fillIn(names, JSON.stringify(step.body), inJson)) as Json)
  const request: HttpRequest = { method: step.method, url: stage.url + path, token, body, headers: step.headers ?? {} }
  const answer = await stage.ask(request, step.expect.status)
  exchanges.push(exchangeOf(request, answer))
  if (answer.status === 201) for (const id of idsIn(answer)) created.add(id)
  if (resource) await stage.note(resource.name, answer, token)
  return judgeStep(step.expect, answer, view) ?? save(names, step, answer)
}

function save(names: Map<string, Json>, { save: wanted = {} }: Step, { json }: HttpAnswer): string | undefined {
  for (const [name, pointer] of Object.entries(wanted)) {
    const value = pointedAt(json, pointer)
    if (value === undefined) return `the answer has nothing at \`${pointer}\` to save as \`${name}\``
    names.set(name, value)
  }
  return undefined
}

/** Of a new object: in its body, or where nobody may read it, in its path. */
function idsIn({ json, headers }: HttpAnswer): readonly string[] {
  const inBody = typeof json === 'object' && json !== null && 'id' in json ? [json.id] : []
  const inPath = headers.location?.split('/').at(-1)
  return [...inBody, inPath && decodeURIComponent(inPath)].filter((id) => typeof id === 'string')
}

function resourceAt({ resources }: Ground, path: string): Resource | undefined {
  const match = createRouteMatcher(resources.routes)('GET', readTarget(path))
  return 'route' in match ? resources.byName.get(match.route.resource) : undefined
}

function viewOf({ policy }: Ground, resource: Resource | undefined, view: string): ReadonlySet<string> {
  const fields = resource && policy.views.get(resource.name)?.get(view)
  if (!fields) throw new CannotSetUp(`views.yaml has no view \`${view}\` of ${resource?.name ?? 'this path'}`)
  return fields
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
