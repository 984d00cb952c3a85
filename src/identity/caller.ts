/** What is found out about who is asking. */
import type { Caller } from '../decide/caller.ts'

/** What was verified holds from `from` until before `until`: seconds since 1970, compared with the clock's whole seconds. */
interface Validity {
  readonly from: number
  readonly until: number
}

/** Authentication finds out; it doesn't answer. A later stage turns `rejected` and `failed` into a response. */
export type Authentication =
  | { readonly kind: 'anonymous' }
  /** Without a validity it holds for this request alone. */
  | { readonly kind: 'caller'; readonly caller: Caller; readonly valid?: Validity }
  | {
      readonly kind: 'rejected'
      readonly code: 'token-invalid' | 'token-expired'
      readonly reason: string
      /** Whose credential it is, where it is genuine and what it stood on is gone. For the record alone. */
      readonly subject?: string
      /** Likewise. */
      readonly credential?: string
    }
  | {
      readonly kind: 'failed'
      readonly code: 'key-server-unavailable' | 'key-server-invalid' | 'store-unavailable'
      readonly cause: unknown
    }

export type Refusal = Extract<Authentication, { kind: 'rejected' }>

export interface TokenVerifier {
  /**
   * Every outcome is a value, at once where nothing has to be waited for; it throws only for a fault of the program or
   * the store.
   */
  verify(token: string): Authentication | Promise<Authentication>
  /** Whether this process accepted the token before and need not verify it again. Absent: it knows none. */
  knows?(token: string): boolean
}

/** A verifier whose outcomes can be remembered. */
export interface KeyedVerifier extends TokenVerifier {
  /**
   * Another number whenever a token that was verified might not be any more, because a key was rotated away. Undefined
   * while that can't be told: then each token is verified.
   */
  readonly keyGeneration: () => number | undefined
}
