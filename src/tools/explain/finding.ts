/** What one check found, and what a client gets: the part of an explanation that depends on the policy. */
import { CATALOGUE, type ProblemCode } from '../../base/problems/catalogue.ts'
import type { Rule } from '../../decide/policy.ts'
import type { Answer, Explanation, Miss, Stage } from './explanation.ts'
import type { AskingCaller } from './question.ts'

export interface Finding
  extends Pick<Explanation, 'outcome' | 'stage' | 'reason' | 'answer' | 'relations' | 'cases' | 'missing' | 'notes'> {
  readonly rules: readonly Rule[]
  readonly misses: readonly NearMiss[]
}

/** Before its rules are quoted from the file. */
export interface NearMiss extends Pick<Miss, 'changes' | 'sentence'> {
  readonly rules: readonly Rule[]
}

const NOTHING = { rules: [], relations: [], cases: [], missing: null, misses: [], notes: [] }

export function refused(stage: Stage, reason: string, answer: Answer): Finding {
  return { ...NOTHING, outcome: 'deny', stage, reason, answer }
}

export function allowed(stage: Stage, reason: string, answer: Answer): Finding {
  return { ...NOTHING, outcome: 'allow', stage, reason, answer }
}

export function problem(code: ProblemCode, headers: Answer['headers'] = {}): Answer {
  return { status: CATALOGUE[code].status, code, headers }
}

/** 401 without credentials, 403 with them. */
export function notPermitted({ caller }: { readonly caller: AskingCaller }): Answer {
  return problem(caller.kind === 'anonymous' ? 'credentials-missing' : 'forbidden')
}
