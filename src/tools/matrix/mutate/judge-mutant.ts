/**
 * Judges one mutant: an expectation notices it, the parser refuses it, no decision differs, or it survives, with a request
 * that shows it or without one.
 */

import { touchedActions } from '../../../analysis/compare.ts'
import { FileError, type Place } from '../../../base/diagnostic.ts'
import type { Policy } from '../../../decide/policy.ts'
import { livingAt } from '../../../decide/rules/rule-expiry.ts'
import { parsePolicy } from '../../../policy/parse/parse-policy.ts'
import { type EvaluatedPolicy, evaluatePolicy } from '../predict/answer.ts'
import type { Cell } from '../predict/arrange-world.ts'
import type { Stated } from '../predict/expectations-met.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import { aimsOf, plainCells } from './aims.ts'
import { type DecidedOtherwise, differenceText, findDifference } from './difference.ts'
import type { Mutant } from './mutants.ts'
import { Tries } from './tries.ts'
import { findWitness, type Pair, type Witness } from './witness.ts'
import { findBeyondRows } from './witness-beyond-rows.ts'
import { findByMeaning } from './witness-by-meaning.ts'
import { findByValues } from './witness-by-value.ts'

export type Verdict =
  | { readonly kind: 'killed'; readonly by: Place }
  | { readonly kind: 'invalid'; readonly why: string }
  /** Proven: no decision about the resources of the mistake differs. */
  | { readonly kind: 'equivalent' }
  | { readonly kind: 'survived'; readonly witness: Witness }
  /** Decisions differ, and no request that shows it was found. */
  | {
      readonly kind: 'not-found'
      /** In the sentences of `policy diff`. */
      readonly differs: readonly string[]
      readonly tried: string
    }

export interface MutationContext extends Pick<PredictedSuite, 'predictor' | 'samples' | 'resources' | 'evaluated'> {
  readonly stated: readonly Stated[]
  /** The resources that mistakes are judged on; undefined for all. */
  readonly about?: ReadonlySet<string> | undefined
}

/** A mutant's policy, and the first expectation that notices it. */
export interface Tried {
  readonly evaluated: EvaluatedPolicy
  readonly noticed: Place | undefined
  /** Undefined for a mistake that is noticed, or that is proven to change no decision. */
  readonly difference: DecidedOtherwise | undefined
}

/** The tried mutant, or the parser's message. */
export function tryMutant(context: MutationContext, mutant: Mutant): Tried | string {
  const parsed = parseMutant(context, mutant)
  if (typeof parsed === 'string') return parsed
  const evaluated = evaluatePolicy(parsed, context.resources, context.predictor.now)
  const covers = coverageOf(context, evaluated)
  const noticing = nearestFirst(context.stated, mutant).find(
    ({ resources, holds }) => [...resources].some(covers) && !holds(evaluated),
  )
  const policies = { before: context.evaluated.policy, after: evaluated.policy }
  const circumstances = { resources: context.resources, now: context.predictor.now }
  const difference = noticing ? undefined : findDifference(policies, circumstances, covers)
  return { evaluated, noticed: noticing?.place, difference }
}

/** Those about the resource of the mistake before others, and lists last: they need the most objects. */
function nearestFirst(stated: readonly Stated[], { resource = '' }: Mutant): readonly Stated[] {
  const costOf = ({ resources, isList }: Stated) => (resources.has(resource) ? 0 : 2) + (isList ? 1 : 0)
  return stated.toSorted((a, b) => costOf(a) - costOf(b))
}

export function judgeMutant(context: MutationContext, mutant: Mutant): Verdict {
  const tried = tryMutant(context, mutant)
  if (typeof tried === 'string') return { kind: 'invalid', why: tried }
  const { evaluated, noticed, difference } = tried
  if (noticed) return { kind: 'killed', by: noticed }
  if (!difference) return { kind: 'equivalent' }
  const { predictor, resources } = context
  const pair = { before: context.evaluated, after: evaluated }
  const policies = { before: pair.before.policy, after: pair.after.policy }
  const tries = new Tries()
  const aims = aimsOf(policies, context, difference.decisions)
  const { settings } = difference
  const cells = () => plainCells(policies, context, settings)
  const witness =
    findWitness(
      predictor,
      pair,
      aims.map(({ cell }) => cell),
      tries,
    ) ??
    findBeyondRows(context, pair, aims, tries) ??
    (settings.length > 0 ? findBySettings(context, pair, cells(), tries) : undefined)
  if (witness) return { kind: 'survived', witness }
  const differs = differenceText(policies, { resources, now: predictor.now }, difference)
  return { kind: 'not-found', differs, tried: tries.text }
}

/** Another meaning of a name, another view of a route, or concealing: no grant differs. */
function findBySettings(
  context: MutationContext,
  pair: Pair,
  cells: readonly Cell[],
  tries: Tries,
): Witness | undefined {
  const { predictor } = context
  return (
    findWitness(predictor, pair, cells, tries) ??
    findByMeaning(predictor, pair, cells, tries) ??
    findByValues(context, pair, cells, tries)
  )
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
function coverageOf({ resources, evaluated, about }: MutationContext, { policy }: EvaluatedPolicy) {
  const policies = { before: evaluated.policy, after: policy }
  const covered = [...resources.byName.values()].filter((one) => touchedActions(policies, one).length > 0)
  const names = new Set(covered.map(({ name }) => name))
  return (name: string) => names.has(name) && (about?.has(name) ?? true)
}
