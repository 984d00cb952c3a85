/** Who is signed in. The tokens are in this file's memory alone: not in storage, not in addresses, not in cookies. */
import { createStore } from '../parts/store.ts'
import { type Problem, problemIn } from './problem.ts'

export type SessionState =
  | { readonly kind: 'none' }
  | { readonly kind: 'open'; readonly email: string }
  /** The pages stay as they are, with what was typed in them. */
  | { readonly kind: 'ended'; readonly email: string }

export interface Credentials {
  readonly email: string
  readonly password: string
  readonly newPassword?: string
}

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

export const session = createStore<SessionState>({ kind: 'none' })

let tokens: Tokens | undefined
let renewing: Promise<void> | undefined

/** Returns the refusal; undefined when signed in. Throws where the server can't be reached. */
export async function signIn(credentials: Credentials): Promise<Problem | undefined> {
  const refusal = await take(credentials)
  if (!refusal) session.set({ kind: 'open', email: credentials.email })
  return refusal
}

export async function signOut(): Promise<void> {
  const token = tokens?.access_token
  tokens = undefined
  session.set({ kind: 'none' })
  if (token === undefined) return
  await fetch('/api/tokens/current', { method: 'DELETE', headers: authorization(token) }).catch(() => undefined)
}

/** Waits while nobody is signed in. */
export async function currentToken(): Promise<string> {
  while (!tokens || session.get().kind !== 'open') await nextChange()
  return tokens.access_token
}

/** After a 401 to this token: gets another one, or asks for a sign-in. */
export async function renew(refused: string): Promise<void> {
  if (tokens?.access_token !== refused) return
  renewing ??= renewNow().finally(() => {
    renewing = undefined
  })
  await renewing
}

async function renewNow(): Promise<void> {
  const refusal = await take({ refresh_token: tokens?.refresh_token ?? '' })
  if (!refusal) return
  tokens = undefined
  const state = session.get()
  if (state.kind === 'open') session.set({ kind: 'ended', email: state.email })
}

async function take(body: object): Promise<Problem | undefined> {
  const answer = await fetch('/api/tokens', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) return problemIn(answer)
  tokens = await answer.json()
  return undefined
}

function nextChange(): Promise<void> {
  return new Promise((resolve) => {
    const end = session.follow(() => {
      end()
      resolve()
    })
  })
}

export function authorization(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` }
}
