/** Judges one mutant: an expectation notices it, the parser refuses it, no request differs, or it survives. */

import { FileError, type Place } from '../../../base/diagnostic.ts'
import type { Policy } from '../../../decide/policy.ts'
import { livingAt } from '../../../decide/rules/rule-expiry.ts'
import { parsePolicy } from '../../../policy/parse/parse-policy.ts'
import type { Resources } from '../../../resources/resource.ts'
import { compareConditions } from '../../diff/compare-conditions.ts'
import { compareRelations } from '../../diff/compare-relations.ts'
import { compareRouteViews } from '../../diff/compare-shown.ts'
import { compareDecisions } from '../../diff/decisions/compare-decisions.ts'
import { type EvaluatedPolicy, evaluatePolicy } from '../predict/answer.ts'
import type { Stated } from '../predict/expectations-met.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import type { Mutant } from './mutants.ts'
import { probesOf } from './probes.ts'
import { findWitness, type Witness } from './witness.ts'
import { findByMeaning } from './witness-by-meaning.ts'
import { findByValues } from './witness-by-value.ts'

export type Verdict =
  | { readonly kind: 'killed'; readonly by: Place }
  | { readonly kind: 'invalid'; readonly why: string }
  /** Shown by the diff of the two policies, or because all probes get the same answers. */
  | { readonly kind: 'equivalent'; readonly proof: 'diff' | 'probes' }
  | { readonly kind: 'survived'; readonly witness: Witness }
  /** Requests would be answered differently if one met the condition in one meaning only, and none was found. */
  | { readonly kind: 'undecided'; readonly why: string }

export interface MutationContext extends Pick<PredictedSuite, 'predictor' | 'samples' | 'resources' | 'evaluated'> {
  readonly stated: readonly Stated[]
}

/** A mutant's policy, and the first expectation that notices it. */
export interface Tried {
  readonly evaluated: EvaluatedPolicy
  readonly noticed: Place | undefined
}

/** The tried mutant, or the parser's message. */
export function tryMutant(context: MutationContext, mutant: Mutant): Tried | string {
  const parsed = parseMutant(context, mutant)
  if (typeof parsed === 'string') return parsed
  const evaluated = evaluatePolicy(parsed, context.resources, context.predictor.now)
  const covers = coverageOf(context.resources, mutant)
  const noticing = context.stated.find(({ resources, holds }) => [...resources].some(covers) && !holds(evaluated))
  return { evaluated, noticed: noticing?.place }
}

export function judgeMutant(context: MutationContext, mutant: Mutant): Verdict {
  const tried = tryMutant(context, mutant)
  if (typeof tried === 'string') return { kind: 'invalid', why: tried }
  const { evaluated, noticed } = tried
  if (noticed) return { kind: 'killed', by: noticed }
  if (isSame(context, evaluated.policy)) return { kind: 'equivalent', proof: 'diff' }
  const pair = { before: context.evaluated, after: evaluated }
  const covers = coverageOf(context.resources, mutant)
  const probes = () => probesOf([context.evaluated.policy, evaluated.policy], context, covers)
  const witness =
    findWitness(context.predictor, pair, probes()) ??
    findByMeaning(context.predictor, pair, probes()) ??
    findByValues(context, pair, probes())
  if (!witness) return { kind: 'equivalent', proof: 'probes' }
  if (witness.kind === 'cell' || !witness.isOpen) return { kind: 'survived', witness }
  return { kind: 'undecided', why: `no request was found that meets \`${witness.meaning}\` in one meaning only` }
}

/** Whether the exact diff of decisions and relations finds nothing. */
function isSame({ evaluated, resources, predictor }: MutationContext, after: Policy): boolean {
  const policies = { before: evaluated.policy, after }
  const { now } = predictor
  if (compareDecisions(policies, { resources, now }).length > 0) return false
  if (compareConditions(policies).length > 0) return false
  return [compareRelations, compareRouteViews].every((compare) => compare(policies, resources).length === 0)
}

/** The policy, or the parser's message. */
function parseMutant({ resources, evaluated, predictor }: MutationContext, { files, file }: Mutant): Policy | string {
  try {
    const policy = livingAt(parsePolicy(files, resources), predictor.now)
    // Unchanged relations stay the same object, so that earlier setups are reused.
    return file === 'ownership.yaml' ? policy : { ...policy, ownership: evaluated.policy.ownership }
  } catch (error) {
    if (error instanceof FileError) return error.diagnostics[0]?.message ?? error.message
    throw error
  }
}

/** Whether a mistake can matter to a resource. */
function coverageOf({ byName }: Resources, { resource }: Mutant): (name: string) => boolean {
  if (resource === undefined) return () => true
  if (resource !== '*' && resource !== 'system/*') return (name) => name === resource
  return (name) => byName.get(name)?.builtIn === (resource === 'system/*')
}
