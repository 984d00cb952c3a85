/**
 * What somebody typed, kept for this tab over a reload (sessionStorage), for this person alone. It is taken away when they
 * sign out, and when somebody else signs in. No token is ever in it.
 */
import { session, signedIn } from './session.ts'

const PREFIX = 'sallyport.kept.'

/** In characters; browsers have room for some five million in a tab. */
const MOST = 4_000_000

let wasSignedIn = false

session.follow(() => {
  const person = signedIn()
  // A sign-in after a reload comes from nobody, and finds what its person typed.
  for (const key of keys()) {
    if (person === undefined ? wasSignedIn : entryAt(key)?.person !== person) sessionStorage.removeItem(key)
  }
  wasSignedIn = person !== undefined
})

/** False where there is no room: then nothing is kept. Undefined takes it away. */
export function keep(name: string, value: unknown): boolean {
  const key = `${PREFIX}${name}`
  sessionStorage.removeItem(key)
  const person = signedIn()
  if (value === undefined || person === undefined) return true
  const text = JSON.stringify({ person, value })
  if (text.length > MOST) return false
  try {
    sessionStorage.setItem(key, text)
    return true
  } catch {
    return false
  }
}

/** Undefined for nothing, and for what somebody else typed. */
export function kept(name: string): unknown {
  const entry = entryAt(`${PREFIX}${name}`)
  return entry && entry.person === signedIn() ? entry.value : undefined
}

function keys(): readonly string[] {
  return Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX))
}

interface Entry {
  readonly person?: unknown
  readonly value?: unknown
}

function entryAt(key: string): Entry | undefined {
  try {
    const entry: unknown = JSON.parse(sessionStorage.getItem(key) ?? 'null')
    return typeof entry === 'object' && entry !== null ? entry : undefined
  } catch {
    return undefined
  }
}
