/** Who is signed in. The tokens are in this file's memory alone: not in storage, not in addresses, not in cookies. */
import { createStore } from '../parts/store.ts'

export type SessionState = { readonly kind: 'none' } | OpenSession | EndedSession

interface OpenSession extends Person {
  readonly kind: 'open'
}

/** The pages stay as they are, with what was typed in them. */
export interface EndedSession extends Person {
  readonly kind: 'ended'
}

interface Person {
  /** As the page names them. */
  readonly email: string
  /** No two people have the same. */
  readonly person: string
}

/** A sign-in or a renewal that nobody answers ends: others wait for it. */
export const PATIENCE_MS = 30_000

/** What a sign-in gave: by a password, or by an OpenID provider. */
export interface Grant extends Person {
  readonly token: string
  /** The next one; undefined where the person must sign in again. Throws where nobody answers. */
  readonly renewed: () => Promise<Grant | undefined>
  readonly giveBack: () => Promise<unknown>
}

export const session = createStore<SessionState>({ kind: 'none' })

let grant: Grant | undefined
let renewing: Promise<void> | undefined
/** From a renewal, and no answer has accepted it yet. */
let untried: string | undefined

export function open(given: Grant): void {
  // Somebody else must find nothing of the one before.
  if (signedIn() !== given.person) session.set({ kind: 'none' })
  grant = given
  session.set({ kind: 'open', email: given.email, person: given.person })
}

export async function signOut(): Promise<void> {
  const last = grant
  grant = undefined
  session.set({ kind: 'none' })
  await last?.giveBack().catch(() => undefined)
}

/** Also of an ended session. */
export function signedIn(): string | undefined {
  const state = session.get()
  return state.kind === 'none' ? undefined : state.person
}

/** Waits while the session is ended. Undefined once the person has signed out, and for somebody else. */
export async function currentToken(person: string | undefined): Promise<string | undefined> {
  while (session.get().kind === 'ended') await nextChange()
  return signedIn() === person ? grant?.token : undefined
}

export function accepted(token: string): void {
  if (untried === token) untried = undefined
}

/** After a 401 to this token: gets another one, or asks for a sign-in. */
export async function renew(refused: string): Promise<void> {
  if (grant?.token !== refused) return
  // The next one would be refused too, without end: tokens for another API are.
  if (untried === refused) return endSession(grant)
  renewing ??= renewNow(grant).finally(() => {
    renewing = undefined
  })
  await renewing
}

async function renewNow(before: Grant): Promise<void> {
  const given = await before.renewed()
  // Signed out meanwhile.
  if (grant !== before) {
    await given?.giveBack().catch(() => undefined)
    return
  }
  grant = given
  untried = given?.token
  if (!given) endSession(before)
}

function endSession({ email, person }: Person): void {
  grant = undefined
  session.set({ kind: 'ended', email, person })
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
