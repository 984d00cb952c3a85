/** Whether a policy answers every step of a case as expected. Each step sees what the steps before it wrote. */
import { isObject } from '../../../base/is-object.ts'
import type { Caller } from '../../../decide/caller.ts'
import type { Json, Representation, Route } from '../../../resources/resource.ts'
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
import { callerIn } from '../read/expectation.ts'
import { type AnsweredRequest, viewsOf } from './compare-answer.ts'
import type { Objects } from './memory-store.ts'
import type { EvaluatedPolicy } from './predict.ts'
import type { Predictor } from './predict-cell.ts'

/** Headers, JSON Patches and queries change answers in ways that no policy decides. */
export function isPredictable({ steps }: Case): boolean {
  return steps.every(
    ({ headers, body, path }) => headers === undefined && (body === undefined || isObject(body)) && !path.includes('?'),
  )
}

/** False if a step gets another answer or can't be asked. */
export async function holdsCase(predictor: Predictor, evaluated: EvaluatedPolicy, one: Case): Promise<boolean> {
  return (await walkCase(predictor, evaluated, one)).holds
}

interface Walk {
  readonly holds: boolean
  /** Of the steps that were asked. */
  readonly resources: ReadonlySet<string>
}

/** What the steps ask, until one doesn't hold. Assumes that response headers are as expected. */
export async function walkCase(
  predictor: Predictor,
  evaluated: EvaluatedPolicy,
  { callers: columns, steps }: Case,
): Promise<Walk> {
  const callers = new Map([...columns].map(([name, column]) => [name, callerIn(column, `${name}-of-the-case`)]))
  const names = new Map([...callers].map(([name, caller]): [string, Json] => [name, caller?.id ?? '']))
  const resources = new Set<string>()
  const created = new Set<string>()
  let objects: Objects = new Map()
  for (const step of steps) {
    const answered = await answerStep(predictor, evaluated, { objects, names, caller: callers.get(step.as) }, step)
    if (answered?.request) resources.add(answered.request.routeMethod.resource.name)
    if (answered?.answer.status === 201 && answered.answer.of) created.add(String(answered.answer.of.id))
    if (!answered || !isExpected({ names, created }, step, answered)) return { holds: false, resources }
    objects = answered.answer.objects
  }
  return { holds: true, resources }
}

interface Before {
  readonly objects: Objects
  readonly names: ReadonlyMap<string, Json>
  readonly caller: Caller | undefined
}

/** Undefined if the step uses a name that no earlier step saved. */
async function answerStep(
  predictor: Predictor,
  evaluated: EvaluatedPolicy,
  { objects, names, caller }: Before,
  step: Step,
): Promise<AnsweredRequest | undefined> {
  try {
    const path = fillIn(names, step.path, (value) => value)
    const body = bodyOf(names, step) as Representation | undefined
    const route = predictor.resources.routes.find((one) => idIn(one, path) !== undefined)
    if (!route) return { answer: { status: 404, objects }, request: undefined }
    const routeMethod = predictor.routeMethods.get(`${step.method} ${route.path}`)
    if (!routeMethod) return { answer: { status: 405, objects }, request: undefined }
    const request = {
      evaluated,
      routeMethod,
      caller,
      id: idIn(route, path) || undefined,
      body,
      objects,
      facts: { now: predictor.now },
    }
    return { answer: await predictor.predict(request), request }
  } catch (error) {
    if (error instanceof UnknownName) return undefined
    throw error
  }
}

interface Known {
  readonly names: Map<string, Json>
  /** The ids of the objects that steps created. */
  readonly created: ReadonlySet<string>
}

/** Whether the answer is the expected one and has all parts that later steps name. Headers aren't predicted. */
function isExpected({ names, created }: Known, step: Step, { answer, request }: AnsweredRequest): boolean {
  const { view } = step.expect
  const fields = view === undefined ? undefined : request && viewsOf(request)?.get(view)
  if (view !== undefined && !fields) return false
  const json = answer.items ? { items: answer.items.map((item): Representation => item.shown) } : answer.shown
  const answered = { status: answer.status, json }
  const fault = judgeStep(step.expect, answered, fields) ?? rowsFaultIn({ names, created }, step, answered)
  return fault === undefined && saveParts(names, step, answered) === undefined
}

/** An unknown name is a fault, too. */
function rowsFaultIn({ names, created }: Known, { expect }: Step, answered: StepAnswer): string | undefined {
  try {
    return rowsFault(names, expect, answered, created)
  } catch (error) {
    if (error instanceof UnknownName) return error.message
    throw error
  }
}

/** The `{id}` of a path that fits the route; empty if the route has none, undefined if the path doesn't fit. */
function idIn({ path }: Route, asked: string): string | undefined {
  const [before = '', after] = path.split('{id}')
  if (after === undefined) return asked === path ? '' : undefined
  const fits = asked.startsWith(before) && asked.endsWith(after)
  const id = fits ? asked.slice(before.length, asked.length - after.length) : ''
  return id === '' || id.includes('/') ? undefined : id
}
