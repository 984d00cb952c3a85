/** The decision about all objects of a resource at once, wherever they are kept: which fields are granted on which. */

import { passRoleLevel, type Question } from '../decide.ts'
import type { Evidence } from '../evidence.ts'
import type { Steps } from '../facts.ts'
import { factsOf } from '../grants/caller-grants.ts'
import type { GrantedWhere } from '../grants/grant-table.ts'
import type { Refusal } from '../refusal.ts'
import type { Snapshot } from '../snapshot.ts'

export interface FilterDecision {
  readonly kind: 'filter'
  /** Every field once; the pseudo-field `*` for an action without fields. */
  readonly granted: readonly GrantedWhere[]
  /** The caller's attributes that the rules compare, and that the caller lacks. */
  readonly lacking: readonly string[]
  readonly evidence: Evidence
}

/** The question names a route of one object, and no object. A change is decided as if it left the object as it is. */
export function* decideFilter(question: Question, policy: Snapshot): Steps<FilterDecision | Refusal> {
  const grants = yield* passRoleLevel(question, policy)
  if (grants.kind === 'refused') return grants
  if (grants.kind === 'route') throw new Error('a filter is about objects, and the route has none')
  const { table, asking, conditions, roleLevel } = grants
  const granted = table.granted(asking, conditions.holding)
  const evidence = { relations: [], lines: roleLevel.lines, fieldsRefused: [], facts: factsOf(grants) }
  const lacking = table.attributes.filter((name) => asking.valuesOf(name).length === 0)
  return { kind: 'filter', granted, lacking, evidence }
}
