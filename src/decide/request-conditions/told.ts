/**
 * The asking service says that it holds: `{ told: true }`. callers.yaml names the services that may say so, and the
 * member of their questions that says it. It never holds for a request to a route of the server itself.
 */
import type { ConditionKind } from './condition-kind.ts'

export interface Told {
  readonly kind: 'told'
  readonly name: string
}

interface Form {
  readonly told: true
}

export const told: ConditionKind<Told, Form> = {
  isForm: (form): form is Form => 'told' in form,
  needsCaller: false,
  parse: (name) => ({ kind: 'told', name }),
  holds: () => false,
  describe: () => 'the asking service says so',
  /** Services tell each one by its name. */
  meaning: ({ name }) => JSON.stringify(['told', name]),
  isWithin: (one, other) => one.name === other.name,
  mistakes: () => [],
}
