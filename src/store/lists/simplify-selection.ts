/** What a list selects, in its simplest form. */
import type { Condition } from '../../decide/conditions/condition.ts'
import { simplify } from '../../decide/conditions/simplify-condition.ts'
import type { Comparison } from '../contract.ts'

interface Selection {
  readonly condition: Condition
  /** The comparisons that the condition doesn't include. */
  readonly rest: readonly Comparison[]
}

/** Of lists without a filter: the next list of the same caller has the same condition object. */
const wholes = new WeakMap<Condition, Selection>()

/** Equality of values is a condition like the policy's own, and is simplified together with it. */
export function simplifySelection(where: Condition, filter: readonly Comparison[] = []): Selection {
  if (filter.length === 0)
    return wholes.getOrInsertComputed(where, () => ({ condition: simplify({ kind: 'all', of: [where] }), rest: [] }))
  const isEquality = ({ operator, by }: Comparison) => operator === 'in' && by === 'value'
  const equal = filter.filter(isEquality).map(({ field, values }): Condition => ({ kind: 'holds', field, values }))
  return {
    condition: simplify({ kind: 'all', of: [where, ...equal] }),
    rest: filter.filter((one) => !isEquality(one)),
  }
}
