/** Masks decision records: replaces the values that policies/masks.yaml names by `***`. */

import { comparisonsIn, withValues } from '../decide/conditions/condition.ts'
import type { Facts } from '../decide/evidence.ts'
import { MASKABLE, type Masks, USERS } from '../decide/policy.ts'
import type { Json } from '../resources/resource.ts'
import { parentFieldOf } from '../resources/routing/path-parameter.ts'
import { type AskedRecord, type DecisionRecord, MASKED, type SearchRecord } from './decision-record.ts'

type MaskableValues = Readonly<Record<string, Json>>

/** The sign-in's object is the user. */
const SIGN_IN = 'system/tokens'

/** Whether the masks cover the ids of the resource's objects. */
export function hidesIds(masks: Masks, resource: string | undefined): boolean {
  return masks.fields.has('objectId') || namesIds(masks, resource === SIGN_IN ? USERS : resource)
}

/** `id` is a field like the others. */
function namesIds({ facts }: Masks, resource = ''): boolean {
  const names = facts.get(resource)
  return names !== undefined && (names.has('id') || names.has('*'))
}

/**
 * Returns the record with masked values; unchanged if nothing is masked. A value that is masked in one place is also
 * masked as object id and fact: otherwise an owner's id could reveal a masked subject. Only `subject` masks the
 * caller's id.
 */
export function mask(record: DecisionRecord, masks: Masks): DecisionRecord {
  if (masks.fields.size === 0 && masks.facts.size === 0) return record
  const { asked, searched, along, expanded, parent } = record
  const hidden = hiddenValues(record, masks, nameMasks(record, masks))
  const masked = <T extends { readonly resource: string; readonly objectId: string }>(one: T) =>
    hidesIds(masks, one.resource) || hidden.has(one.objectId) ? { ...one, objectId: MASKED } : one
  // The field of the reference, whose value the parent's id is.
  const field = record.route && parentFieldOf(record.route)
  const hidesParent = field !== undefined && nameMasks(record, masks).field(field)
  return {
    ...maskOne(record, masks),
    ...(parent && { parent: hidesParent ? { ...parent, objectId: MASKED } : masked(parent) }),
    ...(asked && { asked: asked.map((one) => maskOne(one, masks)) }),
    ...(searched && { searched: maskSearch(searched, masks) }),
    ...(expanded && { expanded: expanded.map(masked) }),
    ...(along && {
      along: {
        changed: along.changed.map(masked),
        deleted: along.deleted.map(masked),
        ...(along.created && { created: along.created.map(masked) }),
      },
    }),
  }
}

/** What was found are ids of subjects or of objects, which a mask may hide. */
function maskSearch(record: SearchRecord, masks: Masks): SearchRecord {
  const masked = maskOne(record, masks)
  return hidesFound(record, masks) ? { ...masked, found: masked.found.map(() => MASKED) } : masked
}

function hidesFound({ for: kind, resource }: SearchRecord, masks: Masks): boolean {
  switch (kind) {
    case 'action':
      return false
    case 'resource':
      return hidesIds(masks, resource)
    case 'subject':
      return masks.fields.has('subject') || namesIds(masks, USERS)
  }
}

/** A record, or one question in it. */
type Maskable = Omit<AskedRecord, 'decision'> & Pick<DecisionRecord, 'address'>

function maskOne<T extends Maskable>(record: T, masks: Masks): T {
  const { facts } = record
  const named = nameMasks(record, masks)
  const hidden = hiddenValues(record, masks, named)
  return {
    ...record,
    ...(hidden.has(record.objectId ?? null) && { objectId: MASKED }),
    ...maskedFields(record, masks),
    ...(facts && { facts: maskFacts(facts, named, hidden) }),
  }
}

function maskedFields(record: Maskable, { fields }: Masks): Partial<Maskable> {
  const present = MASKABLE.filter((name) => fields.has(name) && record[name] !== undefined)
  const lost = fields.has('roles') && record.rolesLost ? { rolesLost: [MASKED] } : {}
  return { ...Object.fromEntries(present.map((name) => [name, name === 'roles' ? [MASKED] : MASKED])), ...lost }
}

type Hidden = ReadonlySet<Json>
type IsMasked = (name: string) => boolean

/** The names that the masks cover: those of the caller's attributes, and of the fields of the record's resource. */
interface MaskedNames {
  readonly attribute: IsMasked
  /** Of the record's resource, or of another one. */
  readonly field: (name: string, resource?: string) => boolean
}

function nameMasks({ resource: own }: Maskable, { facts }: Masks): MaskedNames {
  const isMasked = (name: string, resource: string | undefined): boolean => {
    const names = resource === undefined ? undefined : facts.get(resource)
    return names !== undefined && (names.has('*') || names.has(name))
  }
  return { attribute: (name) => isMasked(name, USERS), field: (name, resource = own) => isMasked(name, resource) }
}

/** The texts and numbers to hide everywhere; true, false and null reveal nothing in other places. */
function hiddenValues({ subject, resource, objectId, facts = {} }: Maskable, masks: Masks, named: MaskedNames): Hidden {
  const { attributes, object, proposed, where } = facts
  const values = [
    ...(masks.fields.has('subject') ? [subject] : []),
    ...(hidesIds(masks, resource) ? [objectId] : []),
    ...valuesOf(attributes, named.attribute),
    ...valuesOf(object, named.field),
    ...valuesOf(proposed, named.field),
    ...(where ? comparisonsIn(where) : []).flatMap(({ field, resource, value }) => {
      return named.field(field, resource) ? [value] : []
    }),
  ]
  return new Set(values.flat().filter((value) => typeof value === 'string' || typeof value === 'number'))
}

function valuesOf(values: MaskableValues = {}, isMasked: IsMasked): readonly Json[] {
  return Object.entries(values).flatMap(([name, value]) => (isMasked(name) ? [value] : []))
}

function maskFacts(facts: Facts, { attribute, field }: MaskedNames, hidden: Hidden): Facts {
  const { attributes, object, proposed, where } = facts
  return {
    ...facts,
    ...(attributes && { attributes: maskValues(attributes, attribute, hidden) }),
    ...(object && { object: maskValues(object, field, hidden) }),
    ...(proposed && { proposed: maskValues(proposed, field, hidden) }),
    ...(where && {
      where: withValues(where, (one) => (field(one.field, one.resource) || hidden.has(one.value) ? MASKED : one.value)),
    }),
  }
}

function maskValues(values: MaskableValues, isMasked: IsMasked, hidden: Hidden): MaskableValues {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      isMasked(name) || reveals(value, hidden) ? hide(value) : value,
    ]),
  )
}

/** Masks a value; a missing field stays visible. */
function hide(value: Json): Json {
  return value === null ? null : MASKED
}

/** Whether a value contains a hidden one; a refused body may have any value in place of a field. */
function reveals(value: Json, hidden: Hidden): boolean {
  if (typeof value !== 'object' || value === null) return hidden.has(value)
  return Object.entries(value).some(([name, one]) => hidden.has(name) || reveals(one, hidden))
}
