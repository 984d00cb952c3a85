/** The conditions of one request that the rules name: those that hold, and those that a new sign-in could make hold. */
import { conditionHolds, type RequestCondition } from './all-conditions.ts'
import type { ConditionFacts } from './condition-kind.ts'
import type { SignedIn } from './signed-in.ts'

export interface RequestConditions {
  /** The names of the named conditions that hold. */
  readonly holding: readonly string[]
  /** The `signedIn` conditions that don't hold, in the order of conditions.yaml. */
  readonly toSignIn: readonly SignedIn[]
}

const NO_CONDITIONS: RequestConditions = { holding: [], toSignIn: [] }

/**
 * `named`: the names of conditions in the rules about the request. `supposed`: the names of those that hold, whatever
 * the facts say.
 */
export function conditionsNow(
  named: readonly string[],
  conditions: ReadonlyMap<string, RequestCondition>,
  facts: ConditionFacts,
  supposed?: readonly string[],
): RequestConditions {
  if (named.length === 0) return NO_CONDITIONS
  const about = [...conditions.values()].filter(({ name }) => named.includes(name))
  const holding = about.filter((condition) =>
    supposed ? supposed.includes(condition.name) : conditionHolds(condition, facts),
  )
  const missing = about.filter((condition) => !holding.includes(condition))
  return {
    holding: holding.map(({ name }) => name),
    toSignIn: canSignIn(facts) ? missing.filter((condition) => condition.kind === 'signedIn') : [],
  }
}

/** An API key proves no sign-in, and a caller without credentials is told to send some. */
function canSignIn({ hasCredentials, credential }: ConditionFacts): boolean {
  return hasCredentials && credential !== 'api-key'
}
