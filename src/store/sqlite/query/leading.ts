/**
 * Conditions that find few objects from their end: from the caller's memberships to the projects to the tasks, each step
 * by an index (docs/decisions/0043). An object that no such condition can find is found by looking at all.
 */
import type { Climb, Condition, Related } from '../../../decide/conditions/condition.ts'
import { conditionSql } from './condition.ts'
import { columnOf, type Scope, within } from './scope.ts'

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
export function leadersOf(condition: Condition, scope: Scope): readonly Condition[] {
  return (condition.kind === 'all' ? condition.of : [condition]).filter((part) => canLead(part, scope))
}

function canLead(condition: Condition, scope: Scope): boolean {
  switch (condition.kind) {
    case 'holds':
      return isIndexed(condition.field, scope)
    case 'related':
      return isIndexed(condition.field, scope) && leadsTo(condition, scope, [condition.by])
    case 'climb':
      return isIndexed(condition.field, scope) && leadsTo(condition, scope, [condition.field])
    case 'some':
      return condition.of.every((part) => leadersOf(part, scope).length > 0)
    default:
      return false
  }
}

function isIndexed(field: string, { table }: Scope): boolean {
  return field === 'id' || (table.leading.has(field) && table.columns.values.has(field))
}

/** The related objects are few too, and have these fields in columns. */
function leadsTo({ resource, where }: Related | Climb, scope: Scope, fields: readonly string[]): boolean {
  const related = within(scope, resource)
  return fields.every((field) => columnOf(field, related)) && leadersOf(where, related).length > 0
}

/** The SQL of a part that leads: IN with a query that starts at its end. Binds the same values as `conditionSql`. */
export function leadingSql(condition: Condition, scope: Scope): string {
  switch (condition.kind) {
    case 'related':
      return `${columnOf(condition.field, scope)} in (${foundSql(condition, scope)})`
    case 'climb':
      return `${columnOf(condition.field, scope)} in (${descentSql(condition, scope)})`
    case 'some':
      return `(${condition.of.map((part) => leadingSql(part, scope)).join(' or ')})`
    case 'all':
      return withLeader(condition.of, leadersOf(condition, scope)[0], scope)
    default:
      return conditionSql(condition, scope)
  }
}

/** All parts, in their order: the leader by its index, the others without one. */
export function withLeader(parts: readonly Condition[], leader: Condition | undefined, scope: Scope): string {
  const follower = { ...scope, plain: true }
  const each = parts.map((part) => (part === leader ? leadingSql(part, scope) : conditionSql(part, follower)))
  return `(${each.join(' and ')})`
}

/**
 * The values that objects are looked up by: the field `by` of all related objects that meet the condition. A comparison
 * of a TEXT column with an ANY column converts nothing.
 */
function foundSql({ resource, by, where }: Related, scope: Scope): string {
  const related = within(scope, resource)
  return `select ${columnOf(by, related)} from ${related.source} where ${leadingSql(where, related)}`
}

/** Starts at the objects that meet the condition, and goes down to the objects that reach them; a circle ends at the depth. */
function descentSql({ field, resource, depth, where }: Climb, scope: Scope): string {
  const related = within(scope, resource)
  const [steps, id] = [`steps${related.depth}`, `${related.here}id`]
  const up = columnOf(field, related)
  return `with recursive ${steps}(id, n) as (
      select ${id}, 1 from ${related.source} where ${leadingSql(where, related)}
      union select ${id}, ${steps}.n + 1 from ${steps} cross join ${related.source}
        where ${up} = ${steps}.id and ${steps}.n < ${depth})
    select id from ${steps}`
}
