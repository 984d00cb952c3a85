/**
 * The interface of a kind of request condition: each kind is a file next to this one, and `all-conditions.ts` lists
 * them. A condition looks at the request and its credential, never at an object. It is plain data, which can be sent
 * between threads.
 */

/** What conditions look at. A missing address or claim holds nothing. */
export interface ConditionFacts {
  /** The time of the request, in milliseconds since the epoch. */
  readonly now: number
  /** The client's address as TRUST_PROXY says, whole. */
  readonly address?: string | undefined
  /** The kind of credential: `password`, `api-key` or `provider`. */
  readonly credential?: string | undefined
  /** The time at which the caller signed in, in milliseconds since the epoch. */
  readonly authTime?: number | undefined
  /** The authentication context class of the sign-in (OpenID Connect Core 1.0, section 2). */
  readonly acr?: string | undefined
  readonly hasCredentials: boolean
}

interface NamedCondition {
  readonly kind: string
  /** Its name in conditions.yaml. */
  readonly name: string
}

/** Reports a fault; `path` is within the condition's form. */
export type ConditionFault = (path: readonly (string | number)[], code: string, message: string, hint?: string) => void

/** `Form` is how conditions.yaml writes the condition; policy/schemas/conditions.schema.json has checked its shape. */
export interface ConditionKind<C extends NamedCondition, Form = unknown> {
  /** Whether a form is of this kind; each form is of exactly one kind. */
  isForm(form: object): form is Form & object
  /** Undefined if there is a fault, which is reported to `fault`. */
  parse(name: string, form: Form, fault: ConditionFault): C | undefined
  holds(condition: C, facts: ConditionFacts): boolean
  /** It holds for nobody without credentials. */
  readonly needsCaller: boolean
  /** The condition in words: `the address is in 192.0.2.0/24`. */
  describe(condition: C): string
  /** A text that is equal for conditions that hold for the same requests, whatever their names. */
  meaning(condition: C): string
  /** Whether each request that meets the first also meets the second; false where this isn't known. */
  isWithin(one: C, other: C): boolean
  /** Forms that somebody could have written by mistake. */
  mistakes(condition: C): readonly unknown[]
}
