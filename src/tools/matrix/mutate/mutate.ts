/** All mutants of a policy, judged one by one. */

import type { Policy } from '../../../decide/policy.ts'
import { isScalar } from '../../../resources/object.ts'
import { surveyCells } from '../cells/survey.ts'
import { statementsOf } from '../predict/expectations-met.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import { judgeMutant, type Verdict } from './judge-mutant.ts'
import type { Mutant, Operator, Source } from './mutants.ts'
import { mutateLinks, mutateRules, vocabularyOf } from './mutate-rules.ts'
import { mutateVocabulary, type ValuesOf } from './mutate-vocabulary.ts'

export interface Judged {
  readonly mutant: Mutant
  readonly verdict: Verdict
}

export interface Mutation {
  readonly judged: readonly Judged[]
  /** How many expectations the current policy doesn't meet; they notice nothing. */
  readonly unmet: number
  /** How many cases can't be predicted; they notice nothing. */
  readonly unpredictable: number
  /** How many cells can't be asked; no expectation can notice a mistake there. */
  readonly unasked: number
}

interface Options {
  /** Undefined for all. */
  readonly only: ReadonlySet<Operator> | undefined
  readonly observe: (done: number, of: number) => void
}

export function mutate(suite: PredictedSuite, { only, observe }: Options): Mutation {
  const { files, resources, samples, evaluated } = suite
  const source = { files, resources }
  const mutants = makeMutants(source, evaluated.policy, {
    only,
    valuesOf: (resource, field) => (samples.get(resource.name)?.values.get(field) ?? []).filter(isScalar),
  })
  const { met, unmet, unpredictable } = statementsOf(suite)
  const judged = mutants.map((mutant, i) => {
    observe(i, mutants.length)
    return { mutant, verdict: judgeMutant({ ...suite, stated: met }, mutant) }
  })
  return { judged, unmet, unpredictable, unasked: surveyCells(suite).unasked.length }
}

export interface Wanted {
  readonly valuesOf: ValuesOf
  /** Undefined for all. */
  readonly only: ReadonlySet<Operator> | undefined
}

/**
 * In the order of the files' lines: the same policy has the same mutants in the same order. No expectation can notice a
 * mistake about a resource that is kept elsewhere.
 */
export function makeMutants(source: Source, policy: Policy, { valuesOf, only }: Wanted): readonly Mutant[] {
  const vocabulary = vocabularyOf(policy)
  return [
    ...mutateRules(source, vocabulary),
    ...mutateLinks(source, vocabulary),
    ...mutateVocabulary(source, policy, valuesOf),
  ]
    .filter(({ operator }) => only?.has(operator) ?? true)
    .filter(({ resource = '' }) => !source.resources.byName.get(resource)?.external)
}

/** The killed mutants, in percent of those that some request could notice. */
export function scoreOf({ judged }: Mutation): number {
  const count = (kind: Verdict['kind']) => judged.filter(({ verdict }) => verdict.kind === kind).length
  const noticeable = count('killed') + count('survived')
  return noticeable === 0 ? 100 : (100 * count('killed')) / noticeable
}
