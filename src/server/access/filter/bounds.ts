/** The bounds of a condition on numbers, both there: a database may hold infinities and NaN, which no object has. */

import type { Between } from '../../../decide/conditions/condition.ts'

export function bounds({ atLeast = -Infinity, atMost = Infinity }: Between): readonly [low: number, high: number] {
  return [Math.max(atLeast, -Number.MAX_VALUE), Math.min(atMost, Number.MAX_VALUE)]
}
