/** The part of an explanation that depends on the policy: the outcome, the reason and the answer. */
import { CATALOGUE, type ProblemCode } from '../../base/problems/catalogue.ts'
import type { Rule } from '../../decide/policy.ts'
import { problemCodeOf, type Refusal } from '../../decide/refusal.ts'
import { challengeOf } from '../../decide/request-conditions/step-up.ts'
import { quote } from '../../present/quote.ts'
import type { DecidingStage, ExplainedAnswer, Explanation, Miss } from './explanation.ts'
import type { MatchedRequest } from './question.ts'

export interface Finding
  extends Pick<
    Explanation,
    'outcome' | 'stage' | 'reason' | 'answer' | 'relations' | 'conditions' | 'cases' | 'missing' | 'notes'
  > {
  readonly rules: readonly Rule[]
  readonly misses: readonly NearMiss[]
}

/** A miss whose rules are not yet quoted from the file. */
export interface NearMiss extends Pick<Miss, 'changes' | 'sentence'> {
  readonly rules: readonly Rule[]
}

const NOTHING = { rules: [], relations: [], conditions: [], cases: [], missing: null, misses: [], notes: [] }

export function refusedBy(stage: DecidingStage, reason: string, answer: ExplainedAnswer): Finding {
  return { ...NOTHING, outcome: 'deny', stage, reason, answer }
}

export function allowedBy(stage: DecidingStage, reason: string, answer: ExplainedAnswer): Finding {
  return { ...NOTHING, outcome: 'allow', stage, reason, answer }
}

export function problem(code: ProblemCode, headers: ExplainedAnswer['headers'] = {}): ExplainedAnswer {
  return { status: CATALOGUE[code].status, code, headers }
}

/** The server's answer to a refused request. */
export function refusalAnswer(refusal: Refusal, caller: 'caller' | 'anonymous'): ExplainedAnswer {
  const code = problemCodeOf(refusal, caller)
  const challenge = code === 'step-up-required' && refusal.stepUp ? challengeOf(refusal.stepUp) : undefined
  return problem(code, challenge === undefined ? {} : { 'WWW-Authenticate': challenge })
}

/** A request that no route accepts. */
export function unaccepted(method: string, answer: ExplainedAnswer, reason: string): MatchedRequest {
  return { kind: 'refused', method, answer, reason }
}

/** The reason why the matching rules allow or refuse. */
export function reasonOf(rules: readonly Rule[], outcome: 'allow' | 'deny'): string {
  const allows = rules.filter(({ effect }) => effect === 'allow').length
  const denies = rules.length - allows
  if (outcome === 'allow')
    return denies > 0 ? 'a rule allows it, and no deny takes everything away' : 'a rule allows it'
  return allows === 0 ? 'no rule allows it to this caller' : 'a deny takes away everything that is allowed'
}

/** Undefined if something else than the changed field is the reason of the refusal. */
export function reasonOfField(rules: readonly Rule[], field: string): string | undefined {
  if (rules.length === 0 || rules.some(({ effect }) => effect === 'deny')) return undefined
  return `the rules that allow it do not let this caller change ${quote(field)}`
}
