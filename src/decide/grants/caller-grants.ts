/** The grants of the policy to one caller on one resource; the checks of a decision use them. */

import type { StoredObject } from '../../resources/object.ts'
import type { FieldNames, Resource } from '../../resources/resource.ts'
import type { Caller } from '../caller.ts'
import { askedFacts, type Facts, recordAttributes } from '../evidence.ts'
import type { GrowingReadSet } from '../permits/permit.ts'
import type { Ownership } from '../policy.ts'
import { stepOf } from '../relations/all-kinds.ts'
import type { FilledField, RelatedObject, Relating } from '../relations/ownership.ts'
import { type CallerAndTime, type Relation, scalarsOf } from '../relations/relation-kind.ts'
import type { RequestConditions } from '../request-conditions/conditions-now.ts'
import type { RoleGuarantees } from '../role-guarantees.ts'
import type { ResultNames } from '../rules/terms.ts'
import type { Grant } from './grant.ts'
import type { GrantTable } from './grant-table.ts'
import type { RoleLevel } from './role-level.ts'

export interface CallerGrants {
  readonly kind: 'grants'
  readonly resource: Resource
  readonly ownership: Ownership | undefined
  /** What relations compare objects with. */
  readonly asking: CallerAndTime
  /** The caller's attributes that the rules compare or a new object gets; the id isn't one. */
  readonly attributes: readonly string[]
  /** The fields that a create fills; empty for other operations. */
  readonly filled: readonly FilledField[]
  /** The conditions of the request that hold, and those that a new sign-in could make hold. */
  readonly conditions: RequestConditions
  /** The grants of the requested action. */
  readonly table: GrantTable
  /** The grants of that table that are known before the object is. */
  readonly roleLevel: RoleLevel
  /** The grants of `read`: they decide the fields in the answer to a write. */
  readonly readTable: GrantTable
  /** The fields that the route shows; undefined for all. */
  readonly view: ReadonlySet<string> | undefined
  /** Of a command: the fields that it always sets, which must all be granted. */
  readonly sets: FieldNames
  /** The largest document that a write may leave. */
  readonly objectBytes: number
  /** What must hold of people; undefined for other resources. */
  readonly roleGuarantees: RoleGuarantees | undefined
  /** The stored facts that the decision has asked for: they must still be so when a write commits. */
  readonly reads: GrowingReadSet
}

/** The same caller while these conditions hold, and no others. */
export function withHolding(grants: CallerGrants, holding: readonly string[]): CallerGrants {
  const { table, asking, conditions } = grants
  const has = (attribute: string) => asking.valuesOf(attribute).length > 0
  return { ...grants, conditions: { ...conditions, holding, toSignIn: [] }, roleLevel: table.roleLevel(has, holding) }
}

/** How to ask for the relations of an object. */
export function relatingBy({ ownership, asking, table, readTable, reads }: CallerGrants): Relating {
  const steps = table.steps.length + readTable.steps.length === 0 ? table.steps : [...table.steps, ...readTable.steps]
  return { ownership, asking, steps, reads }
}

/** The caller's values, conditions and related objects that the decision looked at. */
export function factsOf(grants: CallerGrants, related?: RelatedObject): Facts {
  const { attributes, asking, conditions } = grants
  const steps = related ? heldSteps(grants, related) : []
  const asked = askedFacts(conditions, steps)
  return attributes.length === 0 ? asked : { ...recordAttributes(attributes, asking.valuesOf), ...asked }
}

/** The relations that rest on other objects, and whether each holds. */
export function heldSteps(
  { table, readTable }: CallerGrants,
  { leaves }: RelatedObject,
): readonly [Relation, boolean][] {
  if (table.steps.length + readTable.steps.length === 0) return []
  return [...leaves].filter(([leaf]) => stepOf(leaf))
}

/** What the action grants on an object, by the relations that hold. */
export function grantOn({ table, conditions }: CallerGrants, relations: readonly string[]): Grant {
  return table.grant(withConditions(relations, conditions.holding))
}

/** What the action grants on the result of a write. */
export function grantOnResult({ table, conditions: { holding } }: CallerGrants, names: ResultNames): Grant {
  return table.grantResult({
    stored: withConditions(names.stored, holding),
    mixed: withConditions(names.mixed, holding),
    proposed: names.proposed,
  })
}

/** The fields that `read` grants on an object, by the relations that hold. */
export function readableOn({ readTable, conditions }: CallerGrants, relations: readonly string[]): ReadonlySet<string> {
  return readTable.grant(withConditions(relations, conditions.holding)).fields
}

export function withConditions(relations: readonly string[], conditions: readonly string[]): readonly string[] {
  return conditions.length === 0 ? relations : [...relations, ...conditions]
}

/** The fields that the route shows, of those that are granted. */
export function inView({ view }: CallerGrants, granted: ReadonlySet<string>): ReadonlySet<string> {
  return view ? granted.intersection(view) : granted
}

/**
 * The caller's attributes come from its users record, if the decision has asked for it, or else from the token's claims
 * (semantics.md, "Caller"). `now`: the time of the request, in milliseconds since the epoch.
 */
export function askingOf(caller: Caller | undefined, record: StoredObject | undefined, now: number): CallerAndTime {
  if (!caller) return { valuesOf: () => [], now }
  const attributes: Readonly<Record<string, unknown>> = record?.document ?? caller.claims
  const valuesOf = (name: string) => {
    if (name === 'id') return [caller.id]
    return Object.hasOwn(attributes, name) ? scalarsOf(attributes[name]) : []
  }
  return { valuesOf, now }
}

/** Those that fill fields of a new object, besides the id. */
export function attributesOf(filled: readonly FilledField[]): readonly string[] {
  return filled.map(({ attribute }) => attribute).filter((attribute) => attribute !== 'id')
}
