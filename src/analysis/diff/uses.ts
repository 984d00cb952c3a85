/** The direction of a name with a changed meaning: it follows from the requests that the name holds for, and from its uses. */
import type { Rule, Term } from '../../decide/policy.ts'
import type { Direction } from './change.ts'

/** Whether a name holds more often than before, or less often. */
export type Reach = 'more' | 'fewer'

/** Whether a rule allows more where the name holds more often. */
export type Use = 'widens' | 'narrows'

export function usesIn(rules: readonly Rule[], isUse: (term: Term) => boolean): readonly Use[] {
  return rules.flatMap(({ before, after = [], effect }) =>
    [...before, ...after].filter(isUse).map((term) => ((effect === 'allow') === !term.negated ? 'widens' : 'narrows')),
  )
}

/** The direction is known only if the reach is known and all uses agree. */
export function directionFrom(reach: Reach | undefined, uses: readonly Use[]): Direction {
  if (uses.length === 0) return 'neutral'
  const [use, ...others] = new Set(uses)
  if (reach === undefined || others.length > 0) return 'either'
  return (reach === 'more') === (use === 'widens') ? 'widening' : 'narrowing'
}
