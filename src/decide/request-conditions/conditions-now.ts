/** The conditions of one request that the rules name: those that hold, and those that a new sign-in could make hold. */
import { type Caller, credentialKindOf } from '../caller.ts'
import { conditionHolds, type RequestCondition } from './all-conditions.ts'
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

/** What conditions look at in a request. */
export interface ConditionsAsked {
  readonly subject: {
    /** Undefined without credentials. */
    readonly caller: Caller | undefined
  }
  /** The time of the request, in milliseconds since the epoch. */
  readonly now: number
  /** The client's address, if it is known. */
  readonly address?: string | undefined
  /**
   * The conditions that hold, where they are assumed (their names) or taken from a record; otherwise they follow from the
   * request.
   */
  readonly holding?: readonly string[] | ((condition: RequestCondition) => boolean) | undefined
}

/** `declared`: by name, in the order of conditions.yaml. `names`: those in the rules about the request. */
export function conditionsNow(
  declared: ReadonlyMap<string, RequestCondition>,
  { subject: { caller }, now, address, holding }: ConditionsAsked,
  names: readonly string[],
): RequestConditions {
  if (names.length === 0) return NO_CONDITIONS
  const facts: ConditionFacts = {
    now,
    address,
    credential: caller && credentialKindOf(caller),
    authTime: caller?.authTime,
    acr: caller?.acr,
    hasCredentials: caller !== undefined,
  }
  const holds = (condition: RequestCondition) => {
    if (holding === undefined) return conditionHolds(condition, facts)
    return typeof holding === 'function' ? holding(condition) : holding.includes(condition.name)
  }
  const named = [...declared.values()].filter(({ name }) => names.includes(name))
  const held = named.filter(holds)
  const missing = named.filter((condition) => !held.includes(condition))
  return {
    named,
    holding: held.map(({ name }) => name),
    toSignIn: canSignIn(facts) ? missing.filter((condition) => condition.kind === 'signedIn') : [],
  }
}

/** An API key proves no sign-in, and a caller without credentials is asked to send some. */
function canSignIn({ hasCredentials, credential }: Pick<ConditionFacts, 'hasCredentials' | 'credential'>): boolean {
  return hasCredentials && credential !== 'api-key'
}
