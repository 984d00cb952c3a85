/** What decision records don't hold: the values that policies/masks.yaml names give way to `***`. */
import type { Json } from '../resources/resource.ts'
import type { Condition } from '../store/contract.ts'
import type { Facts } from '../store/permit.ts'
import { type DecisionRecord, MASKED } from './decision-record.ts'

export interface Masks {
  /** Fields of every record. */
  readonly fields: ReadonlySet<MaskedField>
  /** By resource: fields of its objects, or `*` for all of them. */
  readonly facts: ReadonlyMap<string, ReadonlySet<string>>
}

export const MASKABLE = ['address', 'subject', 'roles', 'objectId', 'reason'] as const
export type MaskedField = (typeof MASKABLE)[number]

export const NO_MASKS: Masks = { fields: new Set(), facts: new Map() }

/** The resource whose fields are the attributes of callers, and whose ids are subjects. */
const USERS = 'users'

type Values = Readonly<Record<string, Json>>

/** The record as it may be written; unchanged where nothing is masked. */
export function mask(record: DecisionRecord, masks: Masks): DecisionRecord {
  if (masks.fields.size === 0 && masks.facts.size === 0) return record
  const { facts } = record
  return { ...record, ...maskedFields(record, masks), ...(facts && { facts: maskFacts(record, facts, masks) }) }
}

function maskedFields(record: DecisionRecord, { fields }: Masks): Partial<DecisionRecord> {
  const present = MASKABLE.filter((name) => fields.has(name) && record[name] !== undefined)
  return Object.fromEntries(present.map((name) => [name, name === 'roles' ? [MASKED] : MASKED]))
}

function maskFacts(record: DecisionRecord, facts: Facts, masks: Masks): Facts {
  const { attributes, object, proposed, where } = facts
  const hides = hiding(record, masks)
  const users = masks.facts.get(USERS)
  const attribute = (name: string) => users?.has('*') === true || users?.has(name) === true
  return {
    ...facts,
    ...(attributes && { attributes: maskValues(attributes, attribute) }),
    ...(object && { object: maskValues(object, hides) }),
    ...(proposed && { proposed: maskValues(proposed, hides) }),
    ...(where && { where: maskCondition(where, hides) }),
  }
}

/** Whether a value of a field is masked: because of the field, or because the value is what stands masked elsewhere. */
function hiding({ resource, subject, objectId }: DecisionRecord, { fields, facts }: Masks): Hides {
  const own = resource === undefined ? undefined : facts.get(resource)
  const hidden = new Set<Json>([
    ...(fields.has('subject') && subject !== undefined ? [subject] : []),
    ...(fields.has('objectId') && objectId !== undefined ? [objectId] : []),
  ])
  return (name, value) => {
    if (own?.has('*') || own?.has(name)) return true
    return hidden.has(value) || (Array.isArray(value) && value.some((one) => hidden.has(one)))
  }
}

type Hides = (name: string, value: Json) => boolean

/** That a field isn't there stays told. */
function maskValues(values: Values, hides: Hides): Values {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value !== null && hides(name, value) ? MASKED : value]),
  )
}

function maskCondition(condition: Condition, hides: Hides): Condition {
  switch (condition.kind) {
    case 'holds': {
      const { field, values } = condition
      return { ...condition, values: values.map((value) => (hides(field, value) ? MASKED : value)) }
    }
    case 'all':
    case 'some':
      return { ...condition, of: condition.of.map((one) => maskCondition(one, hides)) }
    case 'not':
      return { ...condition, of: maskCondition(condition.of, hides) }
    case 'always':
    case 'never':
      return condition
  }
}
