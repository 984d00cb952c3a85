/** Whether a list holds fewer or more objects under another filter. */

import type { Condition } from '../../decide/conditions/condition.ts'
import { EVERYWHERE, NOWHERE, type Region, Regions, TooManyRegions } from '../regions.ts'

export type ListReach = 'narrower' | 'wider'

/** Undefined where neither filter is proven to lie within the other. */
export function reachOf(was: Condition, becomes: Condition): ListReach | undefined {
  const regions = new Regions('a list')
  const variables = new Map<string, number>()
  const fits = (text: string) => regions.where(variables.getOrInsertComputed(text, () => variables.size))
  const regionOf = (condition: Condition): Region => {
    switch (condition.kind) {
      case 'always':
        return EVERYWHERE
      case 'never':
        return NOWHERE
      case 'not':
        return regions.not(regionOf(condition.of))
      case 'all':
        return regions.all(condition.of.map(regionOf))
      case 'some':
        return regions.any(condition.of.map(regionOf))
      case 'holds':
        return regions.any(condition.values.map((value) => fits(JSON.stringify([condition.field, value]))))
      default:
        return fits(JSON.stringify(condition))
    }
  }
  try {
    const [before, after] = [regionOf(was), regionOf(becomes)]
    if (regions.isWithin(after, before)) return 'narrower'
    return regions.isWithin(before, after) ? 'wider' : undefined
  } catch (error) {
    if (error instanceof TooManyRegions) return undefined
    throw error
  }
}
