/** All parts, in the order in which they run. */
import { access } from './access.ts'
import { budget } from './budget.ts'
import { decisions } from './decisions.ts'
import { guardedGet } from './guarded-get.ts'
import { limiters } from './limiters.ts'
import { migrate } from './migrate.ts'
import { openLoop } from './open-loop.ts'
import type { Part } from './part.ts'
import { postgres } from './postgres.ts'
import { redisLimits } from './redis-limits.ts'
import { reload } from './reload.ts'
import { scenarios } from './scenarios.ts'
import { size } from './size.ts'
import { start } from './start.ts'
import { store } from './store.ts'

export const PARTS: readonly Part[] = [
  guardedGet,
  openLoop,
  budget,
  access,
  redisLimits,
  store,
  postgres,
  decisions,
  scenarios,
  limiters,
  reload,
  start,
  size,
  migrate,
]
