/** The conditions of one request that the rules name: those that hold, and those that a new sign-in could make hold. */
import type { RequestCondition } from './all-conditions.ts'
import type { ConditionFacts } from './condition-kind.ts'
import type { SignedIn } from './signed-in.ts'

export interface RequestConditions {
  /** In the order of conditions.yaml. */
  readonly named: readonly RequestCondition[]
  /** The names of the named conditions that hold. */
  readonly holding: readonly string[]
  /** The `signedIn` conditions that don't hold, in the order of conditions.yaml. */
  readonly toSignIn: readonly SignedIn[]
}

export const NO_CONDITIONS: RequestConditions = { named: [], holding: [], toSignIn: [] }

/** `named`: the conditions in the rules about the request. */
export function conditionsNow(
  named: readonly RequestCondition[],
  facts: Pick<ConditionFacts, 'hasCredentials' | 'credential'>,
  holds: (condition: RequestCondition) => boolean,
): RequestConditions {
  const holding = named.filter(holds)
  const missing = named.filter((condition) => !holding.includes(condition))
  return {
    named,
    holding: holding.map(({ name }) => name),
    toSignIn: canSignIn(facts) ? missing.filter((condition) => condition.kind === 'signedIn') : [],
  }
}

/** An API key proves no sign-in, and a caller without credentials is told to send some. */
function canSignIn({ hasCredentials, credential }: Pick<ConditionFacts, 'hasCredentials' | 'credential'>): boolean {
  return hasCredentials && credential !== 'api-key'
}
