/** A simplified condition as an expression about one row: what all engines write alike. */
import type { Between, Climb, Condition, Holds, Present, Related, Time } from '../../decide/conditions/condition.ts'

/** Writes the kinds that look at fields or at other objects. */
export interface ConditionKinds<Scope> {
  readonly holds: (condition: Holds, scope: Scope) => string
  readonly present: (condition: Present, scope: Scope) => string
  readonly between: (condition: Between, scope: Scope) => string
  readonly time: (condition: Time, scope: Scope) => string
  readonly related: (condition: Related, scope: Scope) => string
  readonly climb: (condition: Climb, scope: Scope) => string
}

export function writeCondition<Scope>(condition: Condition, scope: Scope, kinds: ConditionKinds<Scope>): string {
  const joined = (parts: readonly Condition[], operator: string) =>
    `(${parts.map((part) => writeCondition(part, scope, kinds)).join(operator)})`
  switch (condition.kind) {
    case 'always':
      return 'true'
    case 'never':
      return 'false'
    case 'holds':
      return kinds.holds(condition, scope)
    case 'present':
      return kinds.present(condition, scope)
    case 'between':
      return kinds.between(condition, scope)
    case 'time':
      return kinds.time(condition, scope)
    case 'related':
      return kinds.related(condition, scope)
    case 'climb':
      return kinds.climb(condition, scope)
    case 'all':
      return joined(condition.of, ' and ')
    case 'some':
      return joined(condition.of, ' or ')
    case 'not':
      // `not x` would be NULL if x is NULL, which would exclude objects without the field.
      return `((${writeCondition(condition.of, scope, kinds)}) is not true)`
  }
}

/** What the indexes of a table find. */
export interface Leads {
  /** The fields that find few objects: those that relations compare, and unique ones. */
  readonly leading: ReadonlySet<string>
  /** The fields with one value in each object, which an index can compare. */
  readonly scalars: { has(field: string): boolean }
}

/** Of a resource. */
type LeadsOf = (resource: string) => Leads

/** Whether related objects take part, so that it is worth to look for the end to start from. */
export function looksUp(condition: Condition): boolean {
  switch (condition.kind) {
    case 'related':
    case 'climb':
      return true
    case 'all':
    case 'some':
      return condition.of.some(looksUp)
    case 'not':
      return looksUp(condition.of)
    default:
      return false
  }
}

/**
 * The parts of the condition that can lead: each is met by all objects that meet the condition, and an index finds its
 * objects.
 */
export function findLeaders(condition: Condition, table: Leads, tableOf: LeadsOf): readonly Condition[] {
  return (condition.kind === 'all' ? condition.of : [condition]).filter((part) => canLead(part, table, tableOf))
}

function canLead(condition: Condition, table: Leads, tableOf: LeadsOf): boolean {
  switch (condition.kind) {
    case 'holds':
      return isIndexed(condition.field, table)
    case 'related':
      return isIndexed(condition.field, table) && leadsTo(condition, condition.by, tableOf)
    case 'climb':
      return isIndexed(condition.field, table) && leadsTo(condition, condition.field, tableOf)
    case 'some':
      return condition.of.every((part) => findLeaders(part, table, tableOf).length > 0)
    default:
      return false
  }
}

function isIndexed(field: string, { leading, scalars }: Leads): boolean {
  return field === 'id' || (leading.has(field) && scalars.has(field))
}

/** The related objects are few too, and have one value in the field. */
function leadsTo({ resource, where }: Related | Climb, field: string, tableOf: LeadsOf): boolean {
  const table = tableOf(resource)
  return (field === 'id' || table.scalars.has(field)) && findLeaders(where, table, tableOf).length > 0
}
