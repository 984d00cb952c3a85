/** Reads the labels of merged rows on their own: which states and transitions they say that they stand for. */
import type { MatrixRow } from '../../../src/tools/permissions/merge-rows.ts'
import type { RowPlan } from '../../../src/tools/permissions/rows.ts'

/** Whether the row is about this state or transition. */
export function fitsRow({ route, endpoint, methods, ...plan }: RowPlan, row: MatrixRow): boolean {
  const { relation, transition } = plan
  if (row.path !== route.path || row.methods.join() !== methods.join() || endpoint.action !== row.action) return false
  if ((row.becomes === undefined) !== (transition === undefined)) return false
  if (row.states === undefined) return row.relation === relation && row.becomes === transition?.becomes
  return fits(row.relation, plan.relations) && (!transition || fits(row.becomes ?? '', new Set(transition.proposed)))
}

function fits(label: string, names: ReadonlySet<string>): boolean {
  const [last, ...terms] = label.split('+').toReversed()
  if (last !== '…') throw new Error(`${label} names every relation`)
  return terms.every((term) => (term.startsWith('!') ? !names.has(term.slice(1)) : names.has(term)))
}
