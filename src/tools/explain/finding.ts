/** What one check found out: the part of an explanation that depends on the policy. */
import type { Rule } from '../../decide/policy.ts'
import type { Answer, Explanation, Stage } from './explanation.ts'
import type { NearMiss } from './nearest-misses.ts'

export interface Finding
  extends Pick<Explanation, 'outcome' | 'stage' | 'reason' | 'answer' | 'relations' | 'cases' | 'missing' | 'notes'> {
  readonly rules: readonly Rule[]
  readonly misses: readonly NearMiss[]
}

const NOTHING = { rules: [], relations: [], cases: [], missing: null, misses: [], notes: [] }

export function refused(stage: Stage, reason: string, answer: Answer): Finding {
  return { ...NOTHING, outcome: 'deny', stage, reason, answer }
}

export function allowed(stage: Stage, reason: string, answer: Answer): Finding {
  return { ...NOTHING, outcome: 'allow', stage, reason, answer }
}
