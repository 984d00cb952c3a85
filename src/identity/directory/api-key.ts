/**
 * An API key is `sp_`, a public id and a secret. Only the hash of the secret is stored. Makes and reads keys, turns one
 * into a caller, and notes when it was used.
 */
import { hash, randomInt, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { onceKnown } from '../../base/now-or-later.ts'
import type { Directory, KeyStatus } from '../../store/directory.ts'
import type { Authentication, Rejection, TokenVerifier } from '../caller.ts'
import { refusalOf, rejected } from './account-status.ts'

/** Without the characters that look alike (0 O I l). */
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

const ID_LENGTH = 10
/** 187 bits: nobody guesses it, so a fast hash protects it well enough. */
const SECRET_LENGTH = 32

const FORM = new RegExp(`^sp_([${ALPHABET}]{${ID_LENGTH}})_([${ALPHABET}]{${SECRET_LENGTH}})$`)

export interface ApiKeyParts {
  readonly id: string
  readonly secret: string
}

export function createApiKey(): ApiKeyParts & { readonly text: string } {
  const [id, secret] = [random(ID_LENGTH), random(SECRET_LENGTH)]
  return { id, secret, text: `sp_${id}_${secret}` }
}

/** Undefined if the text doesn't have the form of a key. */
export function readApiKey(credential: string): ApiKeyParts | undefined {
  const [, id, secret] = FORM.exec(credential) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

export function hashOfSecret(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

/** Compares in constant time. */
export function isSecretOf(secret: string, secretHash: string): boolean {
  const [given, kept] = [Buffer.from(hashOfSecret(secret)), Buffer.from(secretHash)]
  return given.length === kept.length && timingSafeEqual(given, kept)
}

function random(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

// The caller of an API key, by the store's present data about the key and its subject.

/** The number of accepted keys that are remembered. */
const MOST_KNOWN = 10_000

interface KeyOptions {
  readonly directory: Pick<Directory, 'keyStatus'>
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Called for each key that was accepted. */
  readonly used: (id: string, at: number) => void
  /** Opens each key for requests that this process makes in the key's name; nobody else has it. */
  readonly master?: string
}

export function createMasterSecret(): string {
  return random(SECRET_LENGTH)
}

/** The credential for a request of this process in a key's name. */
export function lentKey(id: string, master: string): string {
  return `sp_${id}_${master}`
}

/** Throws StoreUnavailable. */
export function createApiKeyVerifier({ directory, now, used, master }: KeyOptions): TokenVerifier {
  const masterHash = master === undefined ? undefined : hashOfSecret(master)
  /** The hashes of the secrets of accepted keys, by id. With `max` it would take a millisecond of each start. */
  const accepted = new LRUCache<string, string>({ maxSize: MOST_KNOWN, sizeCalculation: () => 1 })
  return {
    knows(credential) {
      const given = readApiKey(credential)
      const hash = given && accepted.peek(given.id)
      return hash !== undefined && isSecretOf(given?.secret ?? '', hash)
    },
    verify(credential) {
      const given = readApiKey(credential)
      if (!given) return forged('not the form of an API key')
      return onceKnown(directory.keyStatus(given.id), (found) => {
        // The id isn't secret, so the response time may reveal whether it exists.
        const isOwn = found !== undefined && isSecretOf(given.secret, found.key.secretHash)
        const isLent = !isOwn && masterHash !== undefined && isSecretOf(given.secret, masterHash)
        if (!found || !(isOwn || isLent)) return forged('unknown API key')
        const at = now()
        const authentication = authenticationOf(found, at)
        if (authentication.kind !== 'caller') return authentication
        if (isOwn) accepted.set(given.id, found.key.secretHash)
        used(given.id, at)
        return authentication
      })
    },
  }
}

export function authenticationOf(found: KeyStatus, now: number): Authentication {
  const credential = `key ${found.key.id}`
  const refusal = refusalOfKey(found, now)
  if (refusal) return { ...refusal, credential }
  const { key, roles: recordRoles } = found
  return { kind: 'caller', caller: { id: key.subject, roles: rolesOf(found), recordRoles, claims: {}, credential } }
}

function refusalOfKey(found: KeyStatus, now: number): Rejection | undefined {
  const { subject, expiresAt, revokedAt } = found.key
  if (revokedAt !== null) return rejected('API key revoked', subject)
  if (expiresAt <= now) return { kind: 'rejected', code: 'token-expired', reason: 'API key expired', subject }
  return refusalOf(found, subject)
}

function forged(reason: string): Authentication {
  return { kind: 'rejected', code: 'token-invalid', reason }
}

/** If the subject is a user here, a key gives only roles that the user has. */
function rolesOf({ key, roles }: KeyStatus): readonly string[] {
  return roles ? key.roles.filter((role) => roles.includes(role)) : key.roles
}

// The last uses of API keys are remembered, and written together once a minute and at the end, never during a request.

export const WRITE_EVERY_MS = 60_000

export interface ApiKeyUses {
  /** `at`: milliseconds since the epoch. */
  readonly note: (id: string, at: number) => void
  /** Writes the remaining uses. */
  readonly close: () => Promise<void>
}

/** `failed`: called when a write fails; its uses are written again later. */
export function createApiKeyUses(
  directory: Pick<Directory, 'noteKeyUses'>,
  failed: (error: unknown) => void,
  everyMs = WRITE_EVERY_MS,
): ApiKeyUses {
  const uses = new Map<string, number>()
  const write = async () => {
    if (uses.size === 0) return
    const taken = new Map(uses)
    uses.clear()
    try {
      await directory.noteKeyUses(taken)
    } catch (error) {
      for (const [id, at] of taken) if (!uses.has(id)) uses.set(id, at)
      failed(error)
    }
  }
  const timer = setInterval(write, everyMs).unref()
  return {
    note: (id, at) => void uses.set(id, at),
    close: async () => {
      clearInterval(timer)
      await write()
    },
  }
}
