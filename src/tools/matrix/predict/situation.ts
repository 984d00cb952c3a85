/** One request and all that its answer depends on. Types, and how the caller relates to an object. */

import type { Ownership } from '../../../decide/policy.ts'
import { ownerFieldOf, relationsOf, relationsOfProposal } from '../../../decide/relations/ownership.ts'
import type { Spot } from '../../../decide/space.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import type { Asker, Grants } from './grants.ts'

/** The objects of the store, by resource and id. */
export type Objects = ReadonlyMap<string, ReadonlyMap<string, Representation>>

export interface Situation {
  readonly grants: Grants
  readonly spot: Spot
  readonly asker: Asker
  /** The path's `{id}`; undefined where the path has none. */
  readonly id: string | undefined
  /** Undefined where the request has none. */
  readonly body: Readonly<Record<string, Json>> | undefined
  readonly objects: Objects
  /** Whether the request names the object's current tag in `If-Match`. */
  readonly conditional?: boolean
  /** Milliseconds since the epoch: a route may have an end. */
  readonly now: number
}

/** What the server answers; of an object the fields that are shown. */
export interface Answer {
  readonly status: number
  readonly shown?: Representation | undefined
  /** The object that `shown` is of. */
  readonly of?: Representation
  /** The rows of a list, in no order. */
  readonly items?: readonly Listed[]
  /** What a write leaves in the store: an object, or nothing where there was one. */
  readonly written?: { readonly id: string; readonly object: Representation | undefined }
}

interface Listed {
  readonly object: Representation
  readonly shown: Representation
}

/** semantics.md, "Refusals": 401 for a caller without credentials, 403 for everybody else. */
export function refused({ asker }: Situation): Answer {
  return { status: asker ? 403 : 401 }
}

/** The relations that hold between the caller and an object. */
export function relate(situation: Situation, object: Representation): readonly string[] {
  return relationsOf(ownershipOf(situation), attributesOf(situation), object)
}

/** The same of a change: caller relations as it would be, state relations as it is. */
export function relateChange(
  situation: Situation,
  objects: { readonly stored: Representation; readonly proposed: Representation },
): readonly string[] {
  return relationsOfProposal(ownershipOf(situation), attributesOf(situation), objects)
}

export function ownershipOf({ grants, spot }: Situation): Ownership | undefined {
  return grants.policy.ownership.get(spot.resource.name)
}

/** What `action` grants on an object of this resource that relates to the caller so. */
export function granted(situation: Situation, action: string, relations: readonly string[]): ReadonlySet<string> {
  const { grants, asker, spot } = situation
  const known = spot.resource.actions.get(action)
  return known ? grants.fields({ asker, resource: spot.resource, action: known }, relations) : new Set()
}

/** An object as an answer shows it: the fields that `action` grants, cut to the route's view. */
export function show(situation: Situation, action: string, object: Representation): Representation {
  const fields = inView(situation, granted(situation, action, relate(situation, object)))
  return Object.fromEntries(Object.entries(object).filter(([field]) => fields.has(field)))
}

/** What an answer to a write shows of its result; undefined where the caller may read nothing of it. */
export function showWritten(situation: Situation, object: Representation): Representation | undefined {
  const isReadable = inView(situation, granted(situation, 'read', relate(situation, object))).size > 0
  return isReadable ? show(situation, 'read', object) : undefined
}

/** Of some fields those that the route's view has. */
export function inView({ grants, spot }: Situation, fields: ReadonlySet<string>): ReadonlySet<string> {
  const { view, resource } = spot.route
  if (view === undefined) return fields
  return fields.intersection(grants.policy.views.get(resource)?.get(view) ?? new Set())
}

/** The field that a new object's creator gets into; undefined where there is none. */
export function ownerField(situation: Situation): { readonly name: string; readonly list: boolean } | undefined {
  return ownerFieldOf(situation.spot.resource, ownershipOf(situation))
}

/** Of the caller's users record alone where there is one, else of the claims (semantics.md, "Caller"). */
export function attributesOf({ asker, objects }: Situation): (name: string) => Scalar | undefined {
  if (!asker) return () => undefined
  const known = objects.get('users')?.get(asker.id) ?? asker.claims
  return (name) => {
    if (name === 'id') return asker.id
    return known && Object.hasOwn(known, name) ? scalar(known[name]) : undefined
  }
}

function scalar(value: Json | undefined): Scalar | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
}

/** Whether another object has one of these values in a unique field. */
export function isTaken({ objects }: Situation, { name, fields }: Resource, object: Representation): boolean {
  const unique = [...fields.values()].filter((field) => field.unique && Object.hasOwn(object, field.name))
  const others = [...(objects.get(name)?.values() ?? [])].filter(({ id }) => id !== object.id)
  return others.some((other) => unique.some((field) => other[field.name] === object[field.name]))
}

/** Whether the route wants `If-Match` and the request has none. */
export function lacksPrecondition({ spot, conditional }: Situation): boolean {
  return spot.route.precondition === 'required' && !conditional
}
