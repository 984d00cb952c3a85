/** All parts, in the order in which they run. */
import { guardedGet } from './guarded-get.ts'
import type { Part } from './part.ts'
import { redisLimits } from './redis-limits.ts'
import { store } from './store.ts'

export const PARTS: readonly Part[] = [guardedGet, redisLimits, store]
