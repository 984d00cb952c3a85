/** What the server and the thread that parses a policy tell each other: types only. */
import type { Policy, Rule } from '../policy/policy.ts'
import type { Diagnostic } from '../problems/diagnostic.ts'

/** The next rules, please: they are taken over a few at a time. */
export type ToParser = 'more'

export type FromParser =
  | { readonly kind: 'policy'; readonly policy: Omit<Policy, 'rules'> }
  | { readonly kind: 'faulty'; readonly diagnostics: readonly Diagnostic[] }
  /** Empty after the last ones. */
  | { readonly kind: 'rules'; readonly rules: readonly Rule[] }
