/** Who is asking. What a caller may do is the policy's matter. */

export interface Caller {
  /** 1 to 128 characters, well-formed Unicode, no control characters. */
  readonly id: string
  /** As the credential claims them; the policy decides which exist. */
  readonly roles: readonly string[]
  /** The other claims of the credential: attributes where the caller has no users record. */
  readonly claims: Readonly<Record<string, unknown>>
}

/** Authentication finds out; it doesn't answer. A later stage turns `rejected` and `failed` into a response. */
export type Authentication =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'caller'; readonly caller: Caller }
  | { readonly kind: 'rejected'; readonly code: 'token-invalid' | 'token-expired'; readonly reason: string }
  | {
      readonly kind: 'failed'
      readonly code: 'key-server-unavailable' | 'key-server-invalid'
      readonly cause: unknown
    }

export interface TokenVerifier {
  /** Every outcome is a value; it throws only for a fault of the program. */
  verify(token: string): Promise<Authentication>
}
