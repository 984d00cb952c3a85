/** Every mutant of a policy: each mistake that the operators know, at each place where it can be made. */
import type { Policy } from '../../../decide/policy.ts'
import type { Mutant, Operator, Source } from './mutant.ts'
import { mutateLinks } from './mutate-links.ts'
import { mutateRules } from './mutate-rules.ts'
import { mutateVocabulary, type ValuesOf } from './mutate-vocabulary.ts'
import { vocabularyOf } from './vocabulary.ts'

export interface Wanted {
  readonly valuesOf: ValuesOf
  /** Undefined for all. */
  readonly only: ReadonlySet<Operator> | undefined
}

/** In the order of the files' lines: the same policy has the same mutants in the same order. */
export function makeMutants(source: Source, policy: Policy, { valuesOf, only }: Wanted): readonly Mutant[] {
  const vocabulary = vocabularyOf(policy)
  return [
    ...mutateRules(source, vocabulary),
    ...mutateLinks(source, vocabulary),
    ...mutateVocabulary(source, policy, valuesOf),
  ].filter(({ operator }) => only?.has(operator) ?? true)
}
