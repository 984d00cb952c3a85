/** How people sign in here, as the server says it. */

export interface SignInWays {
  /** The server has users of its own. */
  readonly password: boolean
  readonly openId?: OpenIdSignIn
}

export interface OpenIdSignIn {
  readonly issuer: string
  /** The provider's name of this console. */
  readonly client: string
  readonly scope: string
  readonly parameters: readonly (readonly [name: string, value: string])[]
}

let known: Promise<SignInWays> | undefined

/** Throws where the server can't be reached; the next call asks again. */
export function signInWays(): Promise<SignInWays> {
  known ??= fetch('/sign-in.json').then((answer) => answer.json())
  known.catch(() => {
    known = undefined
  })
  return known
}
