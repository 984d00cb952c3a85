/** Whether a policy answers every step of a case as expected. */
import type { Json, Representation } from '../../../resources/resource.ts'
import { isObject } from '../../../resources/schema/subschemas.ts'
import type { Case, Step, StepExpected } from '../read/cases.ts'
import { fillIn, pointedAt, UnknownName } from '../read/cases.ts'
import type { Asker, Grants } from './grants.ts'
import type { Predictor } from './predict-cell.ts'
import type { Answer, Objects } from './situation.ts'
import { type Told, tell } from './world.ts'

/** Headers and JSON Patches change what is answered in ways that no policy decides; neither does a query. */
export function isPredictable({ steps }: Case): boolean {
  return steps.every(
    ({ headers, body, path }) => headers === undefined && (body === undefined || isObject(body)) && !path.includes('?'),
  )
}

/** False as soon as a step is answered otherwise, or can't be asked. Headers of answers are taken as they are expected. */
export function holdsCase(predictor: Predictor, grants: Grants, one: Case): boolean {
  return walk(predictor, grants, one).holds
}

/** The resources that the steps are about, as far as they hold. */
export function resourcesOf(predictor: Predictor, grants: Grants, one: Case): ReadonlySet<string> {
  return walk(predictor, grants, one).resources
}

interface Walk {
  readonly holds: boolean
  readonly resources: ReadonlySet<string>
}

function walk(predictor: Predictor, grants: Grants, { callers, steps }: Case): Walk {
  const askers = new Map([...callers].map(([name, column]) => [name, askerOf(name, column)]))
  const names = new Map([...askers].map(([name, asker]): [string, Json] => [name, asker?.id ?? '']))
  const resources = new Set<string>()
  let objects: Objects = new Map()
  for (const step of steps) {
    const told = tellStep(predictor, grants, { objects, names, asker: askers.get(step.as) }, step)
    if (told?.situation) resources.add(told.situation.spot.resource.name)
    if (!told || !isExpected(told, step.expect) || !save(names, step, told.answer)) return { holds: false, resources }
    objects = told.objects
  }
  return { holds: true, resources }
}

function askerOf(name: string, column: Case['callers'] extends ReadonlyMap<string, infer C> ? C : never): Asker {
  return column.kind === 'user' ? { id: column.id, roles: [] } : { id: `${name}-of-the-case`, roles: column.roles }
}

interface Before {
  readonly objects: Objects
  readonly names: ReadonlyMap<string, Json>
  readonly asker: Asker
}

/** Undefined where the step uses what no step before it saved. */
function tellStep(
  predictor: Predictor,
  grants: Grants,
  { objects, names, asker }: Before,
  step: Step,
): Told | undefined {
  try {
    const path = fillIn(names, step.path, (value) => value)
    const filled = step.body === undefined ? undefined : JSON.parse(fillIn(names, JSON.stringify(step.body), inJson))
    return tell(predictor, grants, objects, { asker, method: step.method, path, body: filled })
  } catch (error) {
    if (error instanceof UnknownName) return undefined
    throw error
  }
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function isExpected({ answer, situation }: Told, { status, view, fields }: StepExpected): boolean {
  if (answer.status !== status) return false
  const named = view === undefined ? fields : viewOf(situation, view)
  if (view !== undefined && named === undefined) return false
  if (named === undefined) return true
  const rows = answer.items?.map((item) => item.shown) ?? (answer.shown ? [answer.shown] : [])
  return rows.length > 0 && rows.every((row) => isSame(new Set(Object.keys(row)), new Set(named)))
}

function viewOf(situation: Told['situation'], view: string): Iterable<string> | undefined {
  return situation?.grants.policy.views.get(situation.spot.resource.name)?.get(view)
}

function isSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.symmetricDifference(other).size === 0
}

/** Whether there was all that is to be saved. */
function save(names: Map<string, Json>, { save: wanted = {} }: Step, { shown, items }: Answer): boolean {
  const json = items ? { items: items.map((item): Representation => item.shown) } : shown
  return Object.entries(wanted).every(([name, pointer]) => {
    const value = pointedAt(json, pointer)
    if (value !== undefined) names.set(name, value)
    return value !== undefined
  })
}
