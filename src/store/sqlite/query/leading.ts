/**
 * Conditions that find few objects from their end: from the caller's memberships to the projects to the tasks, each
 * step by an index (docs/decisions/0091). An object that no such condition can find is found by looking at all.
 */
import type { Climb, Condition, Related } from '../../../decide/conditions/condition.ts'
import { findLeaders, type Leads } from '../../sql/find-leaders.ts'
import { conditionSql } from './condition.ts'
import { columnOf, type QueriedTable, type Scope, within } from './scope.ts'
import { stepOfRow } from './work.ts'

export function leadersOf(condition: Condition, { table, tableOf }: Scope): readonly Condition[] {
  return findLeaders(condition, leadsOf(table), (resource) => leadsOf(tableOf(resource)))
}

function leadsOf({ leading, columns }: QueriedTable): Leads {
  return { leading, scalars: columns.values }
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
  return `select ${columnOf(by, related)} from ${related.source} where ${stepOfRow(related.here)} and ${leadingSql(where, related)}`
}

/**
 * Starts at the objects that meet the condition, and goes down to the objects that reach them; a circle ends at the
 * depth.
 */
function descentSql({ field, resource, depth, where }: Climb, scope: Scope): string {
  const related = within(scope, resource)
  const [steps, id] = [`steps${related.depth}`, `${related.here}id`]
  const up = columnOf(field, related)
  return `with recursive ${steps}(id, n) as (
      select ${id}, 1 from ${related.source} where ${stepOfRow(related.here)} and ${leadingSql(where, related)}
      union select ${id}, ${steps}.n + 1 from ${steps} cross join ${related.source}
        where ${stepOfRow(related.here)} and ${up} = ${steps}.id and ${steps}.n < ${depth})
    select id from ${steps}`
}
