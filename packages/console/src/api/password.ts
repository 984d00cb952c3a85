/** The sign-in of the server's own users. */
import { type Problem, problemIn } from './problem.ts'
import { authorization, type Grant, open, PATIENCE_MS } from './session.ts'

export interface Credentials {
  readonly email: string
  readonly password: string
  readonly newPassword?: string
}

/** Returns the refusal; undefined when signed in. Throws where the server can't be reached. */
export async function signIn(credentials: Credentials): Promise<Problem | undefined> {
  const given = await grantFor(credentials.email, credentials)
  if (!('token' in given)) return given
  open(given)
  return undefined
}

async function grantFor(email: string, body: object): Promise<Grant | Problem> {
  const answer = await fetch('/api/tokens', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
  if (!answer.ok) return problemIn(answer)
  const { access_token: token, refresh_token } = await answer.json()
  return {
    email,
    person: email,
    token,
    renewed: async () => {
      const next = await grantFor(email, { refresh_token })
      if ('token' in next) return next
      // A busy server refuses nobody.
      if (next.status === 429 || next.status >= 500) throw new Error(next.sentence)
      return undefined
    },
    giveBack: () => fetch('/api/tokens/current', { method: 'DELETE', headers: authorization(token) }),
  }
}
