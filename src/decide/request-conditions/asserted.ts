/**
 * The PEP asserts that it holds: `{ asserted: true }`. callers.yaml names the services that may say so, and the
 * member of their questions that asserts it. It never holds for a request to a route of the server itself.
 */
import type { ConditionKind } from './condition-kind.ts'

export interface Asserted {
  readonly kind: 'asserted'
  readonly name: string
}

/** `told` is the former name (policy/former-words.ts). */
type AssertedForm = { readonly asserted: true } | { readonly told: true }

export const asserted: ConditionKind<Asserted, AssertedForm> = {
  isForm: (form): form is AssertedForm => 'asserted' in form || 'told' in form,
  needsCaller: false,
  parse: (name) => ({ kind: 'asserted', name }),
  holds: () => false,
  describe: () => 'the service asserts it',
  /** Services assert each one by its name. Records have a hash of this text, so it keeps the former name. */
  meaning: ({ name }) => JSON.stringify(['told', name]),
  isWithin: (one, other) => one.name === other.name,
  mistakes: () => [],
}
