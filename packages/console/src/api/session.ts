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
  const { email } = credentials
  const given = await tokensFor(credentials)
  if (!('access_token' in given)) return given
  // Somebody else must find nothing of the one before.
  if (signedIn() !== email) session.set({ kind: 'none' })
  tokens = given
  session.set({ kind: 'open', email })
  return undefined
}

export async function signOut(): Promise<void> {
  const token = tokens?.access_token
  tokens = undefined
  session.set({ kind: 'none' })
  if (token !== undefined) await giveBack(token)
}

async function giveBack(token: string): Promise<void> {
  await fetch('/api/tokens/current', { method: 'DELETE', headers: authorization(token) }).catch(() => undefined)
}

/** The e-mail address, also of an ended session. */
export function signedIn(): string | undefined {
  const state = session.get()
  return state.kind === 'none' ? undefined : state.email
}

/** Waits while the session is ended. Undefined once the person has signed out, and for somebody else. */
export async function currentToken(email: string | undefined): Promise<string | undefined> {
  while (session.get().kind === 'ended') await nextChange()
  return signedIn() === email ? tokens?.access_token : undefined
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
  const before = tokens
  const given = await tokensFor({ refresh_token: before?.refresh_token ?? '' })
  const isGiven = 'access_token' in given
  // Signed out meanwhile.
  if (tokens !== before) return isGiven ? giveBack(given.access_token) : undefined
  tokens = isGiven ? given : undefined
  if (isGiven) return
  const state = session.get()
  if (state.kind === 'open') session.set({ kind: 'ended', email: state.email })
}

async function tokensFor(body: object): Promise<Tokens | Problem> {
  const answer = await fetch('/api/tokens', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  return answer.ok ? answer.json() : problemIn(answer)
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
