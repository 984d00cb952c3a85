/**
 * Conditions that find few objects from their end: from the caller's memberships to the projects to the tasks, each
 * step by an index (docs/decisions/0091). As `in`, PostgreSQL can plan them in that direction; as `exists`, from each
 * object.
 */
import type { Climb, Condition, Related } from '../../../decide/conditions/condition.ts'
import { findLeaders, looksUp } from '../../sql/find-leaders.ts'
import { conditionSql, singleOf } from './condition.ts'
import { type Scope, within } from './scope.ts'

/** The same as `conditionSql`, for rows that are selected: each part that can lead is written so that it can. */
export function leadingSql(condition: Condition, scope: Scope): string {
  if (!looksUp(condition)) return conditionSql(condition, scope)
  if (condition.kind === 'all') return `(${condition.of.map((part) => leadingSql(part, scope)).join(' and ')})`
  if (findLeaders(condition, scope.table, scope.tableOf).length === 0) return conditionSql(condition, scope)
  switch (condition.kind) {
    case 'related':
      return foundSql(condition, scope)
    case 'climb':
      return descentSql(condition, scope)
    case 'some':
      return alternativesSql(condition.of, scope)
    default:
      return conditionSql(condition, scope)
  }
}

function foundSql({ field, resource, by, where }: Related, scope: Scope): string {
  const related = within(scope, resource)
  const [own, other] = [singleOf(field, scope), singleOf(by, related)]
  const found = field === 'id' ? other.text : other.key
  return `${field === 'id' ? own.text : own.key} in (
    select ${found} from ${related.source} where ${leadingSql(where, related)})`
}

/**
 * Starts at the objects that meet the condition, and goes down to the objects that reach them; a circle ends at the
 * depth.
 */
function descentSql({ field, resource, depth, where }: Climb, scope: Scope): string {
  const related = within(scope, resource)
  const [steps, id] = [`steps${related.depth}`, `${related.alias}.id`]
  const own = singleOf(field, scope)
  const up = singleOf(field, related).key
  return `${own.key} in (with recursive ${steps}(id, n) as (
      select ${id}, 1 from ${related.source} where ${leadingSql(where, related)}
      union select ${id}, ${steps}.n + 1 from ${steps} join ${related.source} on ${up} = '2' || ${steps}.id
        where ${steps}.n < ${depth})
    select '2' || ${steps}.id from ${steps})`
}

/** Each alternative finds its objects by its own index. */
function alternativesSql(alternatives: readonly Condition[], scope: Scope): string {
  const found = alternatives.map((one) => {
    const same = { ...within({ ...scope, tableOf: () => scope.table }, ''), tableOf: scope.tableOf }
    return `select ${same.alias}.id from ${same.source} where ${leadingSql(one, same)}`
  })
  return `${scope.alias}.id in (${found.join(' union all ')})`
}
