/** Questions about stored objects as expressions: a few searches in indexes. */
import type { Condition, Lookup } from '../../../decide/conditions/condition.ts'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import { conditionSql, stepsSql } from './condition.ts'
import { outermost, type TableOf, within } from './scope.ts'
import type { Parameters } from './statement.ts'

/** Whether such an object is stored. */
export function lookupSql({ resource, by, values, climb, where }: Lookup, tableOf: TableOf, to: Parameters): string {
  const named = simplify({ kind: 'holds', field: by, values })
  const met = simplify(where)
  if (named.kind === 'never' || met.kind === 'never') return 'false'
  const scope = outermost(tableOf(resource), tableOf, to)
  if (!climb) {
    const both: Condition = { kind: 'all', of: [named, met] }
    return `exists (select 1 from ${scope.source} where ${conditionSql(both, scope)})`
  }
  const start = `select ${scope.alias}.id, 1 from ${scope.source} where ${conditionSql(named, scope)}`
  const reached = within(scope, resource)
  return `exists (${stepsSql({ ...climb, start }, reached)} where ${conditionSql(met, reached)})`
}
