/** The caller of a request. The policy decides what a caller may do. */
export interface Caller {
  /** 1 to 128 characters, well-formed Unicode, no control characters. */
  readonly id: string
  /** As the credential claims them; the policy decides which exist. */
  readonly roles: readonly string[]
  /** Claims of an OpenID provider about the caller; the policy's roles.yaml maps them to roles. */
  readonly provided?: readonly string[] | undefined
  /** The other claims of the credential: the caller's attributes if there is no users record. */
  readonly claims: Readonly<Record<string, unknown>>
  /** The session of the token, if the caller signed in here. */
  readonly session?: string | undefined
  /** The kind of credential, as in decision records. */
  readonly credential?: string | undefined
}
