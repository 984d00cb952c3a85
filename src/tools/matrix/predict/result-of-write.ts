/** What a request would leave if the policy allowed it, with the defaults of the schema and the filled fields. */
import { v7 as uuidv7 } from 'uuid'
import type { Caller } from '../../../decide/caller.ts'
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import { proposeNew, proposeReplacement, proposeUpdate } from '../../../decide/permits/propose.ts'
import type { Ownership, Policy } from '../../../decide/policy.ts'
import { filledFields, valuesToFill } from '../../../decide/relations/ownership.ts'
import { askingAs } from '../../../decide/relations/relation-kind.ts'
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import type { Attributes } from '../arrange/wanted-object.ts'
import type { ArrangedRequest, Cell } from './arrange-cell.ts'
import type { Predictor } from './predict-cell.ts'
import { relationsAmong } from './relations-among.ts'

/** All relations that hold for the object that a write leaves, sorted; undefined if it leaves none, or is unknown. */
export function resultOf({ arrange, routeMethods, now }: Predictor, policy: Policy, cell: Cell) {
  const routeMethod = routeMethods.get(`${cell.method} ${cell.path}`)
  const arranged = arrange(policy, cell)
  if (!routeMethod || arranged.kind !== 'arranged') return undefined
  const { request } = arranged
  const attributes = attributesOf(request.caller)
  const ownership = policy.ownership.get(routeMethod.resource.name)
  const object = objectLeft(routeMethod, request, { ownership, attributes, now })
  if (!object) return undefined
  const stored = [...request.objects].flatMap(([resource, some]) =>
    [...some.values()].map((one) => ({ resource, object: one })),
  )
  return relationsAmong({ ownership, attributes, now, world: stored }, object).toSorted()
}

function attributesOf(caller: Caller | undefined): Attributes {
  return caller ? { ...(caller.claims as Attributes), id: caller.id } : {}
}

interface Asking {
  readonly ownership: Ownership | undefined
  readonly attributes: Attributes
  readonly now: number
}

function objectLeft(
  { endpoint: { operation }, resource }: RouteMethod,
  { id, body, objects }: ArrangedRequest,
  asking: Asking,
): Representation | undefined {
  const before = objects.get(resource.name)?.get(id ?? '')
  if (!body) return undefined
  if (operation === 'create') return objectCreated(resource, body, asking)
  if (!before) return undefined
  if (operation === 'update') return proposeUpdate(resource, body, before).after
  if (operation !== 'replace') return undefined
  const all = new Set(resource.fields.keys())
  const filled = new Set(filledFields(resource, asking.ownership).map(({ field }) => field.name))
  return proposeReplacement(resource, body, { before, writable: all, readable: all, filled }).after
}

export function objectCreated(
  resource: Resource,
  body: Readonly<Record<string, Json>>,
  { ownership, attributes, now }: Asking,
): Representation {
  const filled = valuesToFill(filledFields(resource, ownership), askingAs(attributes, now).valuesOf)
  return proposeNew(resource, body, { id: uuidv7(), filled, now: new Date(now).toISOString() }).after
}
