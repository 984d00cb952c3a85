/** Who is asking. What a caller may do is the policy's matter. */
export interface Caller {
  /** 1 to 128 characters, well-formed Unicode, no control characters. */
  readonly id: string
  /** As the credential claims them; the policy decides which exist. */
  readonly roles: readonly string[]
  /** What an OpenID provider says of the caller, which the policy's roles.yaml makes roles of. */
  readonly provided?: readonly string[] | undefined
  /** The other claims of the credential: attributes where the caller has no users record. */
  readonly claims: Readonly<Record<string, unknown>>
  /** The session that the token is of, where it was signed in for here. */
  readonly session?: string | undefined
  /** As decision records have it. */
  readonly credential?: string | undefined
}
