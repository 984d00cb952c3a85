/** Two policies -> every difference of meaning between them; none when they are equivalent. */
import type { ReviewedPolicy } from '../load-policy.ts'
import type { Change } from './change.ts'
import { compareBlocked } from './compare-blocked.ts'
import { compareLimits } from './compare-limits.ts'
import { compareMasks } from './compare-masks.ts'
import { compareRoles, compareRouteViews } from './compare-names.ts'
import { compareRelations } from './compare-relations.ts'
import { compareSizes } from './compare-sizes.ts'
import { type Circumstances, compareDecisions } from './decisions/compare-decisions.ts'
import { type Sides, sidesOf } from './decisions/relation-space.ts'

/** Throws ReviewError for more relations than can be compared. */
export function comparePolicies(
  reviewed: Sides<Pick<ReviewedPolicy, 'policy' | 'blocked'>>,
  circumstances: Circumstances,
): readonly Change[] {
  const { resources } = circumstances
  const policies = sidesOf((side) => reviewed[side].policy)
  return [
    ...compareDecisions(policies, circumstances),
    ...compareRelations(policies, resources),
    ...compareRouteViews(policies, resources),
    ...compareRoles(policies),
    ...compareLimits(policies),
    ...compareSizes(policies),
    ...compareMasks(policies),
    ...compareBlocked(
      sidesOf((side) => reviewed[side].blocked),
      circumstances.now,
    ),
  ]
}
