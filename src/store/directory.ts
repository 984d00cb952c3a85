/**
 * The people and programs that may ask: accounts beside the users resource, sessions and API keys. E-mail, name and roles
 * stand in the users record alone. Every write is one transaction, durable when it returns. The store gets hashes of secrets,
 * never the secrets. Times are milliseconds since the epoch.
 */

import type { Document } from '../resources/object.ts'

export interface Account {
  /** A PHC string; null where no password lets the user in. */
  readonly passwordHash: string | null
  /** The password ends with the first sign-in. */
  readonly oneTime: boolean
  readonly disabled: boolean
  readonly changedAt: number
}

/** A users record and the account that goes with it. */
export interface Person {
  readonly id: string
  /** As in the record: empty where it has none. */
  readonly email: string
  readonly name: string
  readonly roles: readonly string[]
  /** Undefined until a password was set or the user was disabled. */
  readonly account: Account | undefined
}

export interface NewPassword {
  /** A PHC string. */
  readonly hash: string
  readonly oneTime: boolean
}

export interface VerifiedPassword {
  /** The stored hash that it was verified against. */
  readonly hash: string
  /** Hash of the password that takes its place; the user's other sessions end. */
  readonly next?: string | undefined
}

/**
 * The hashes of a refresh token: SHA-256 of its two secrets (base64url). `family` stays for the life of the session, so that
 * an older token is recognized without a list of all tokens. `current` is new with each use.
 */
export interface RefreshHashes {
  readonly family: string
  readonly current: string
}

export interface NewSession {
  /** Unique, and no secret: it stands in access tokens as `sid`. */
  readonly id: string
  readonly userId: string
  readonly createdAt: number
  /** Whatever happens. */
  readonly endsAt: number
  /** Unless it is refreshed before. */
  readonly idleEndsAt: number
  readonly refresh: RefreshHashes
}

type Session = Omit<NewSession, 'refresh'>

export interface Refresh {
  readonly session: string
  readonly presented: RefreshHashes
  /** Hash of the secret that takes the place of the current one. */
  readonly next: string
  readonly idleEndsAt: number
}

export type Refreshed =
  | RefreshChange
  /** No such session, or it has ended, or its user is disabled or gone; or the token was never one of it. */
  | { readonly kind: 'unknown' }

/** What a refresh changes. */
export type RefreshChange =
  | { readonly kind: 'refreshed'; readonly session: Session; readonly person: Person }
  /** An older token of the family: somebody holds a copy. The session has ended with this call. */
  | { readonly kind: 'reused'; readonly userId: string }

/** The decision record of each change that a refresh can make. */
export type RefreshRecords = Readonly<Record<RefreshChange['kind'], string>>

export interface NewApiKey {
  /** Public: what stands before the secret, and what people call the key by. */
  readonly id: string
  /** SHA-256 (base64url). */
  readonly secretHash: string
  readonly subject: string
  readonly roles: readonly string[]
  readonly name: string
  readonly createdAt: number
  readonly expiresAt: number
}

export interface ApiKey extends NewApiKey {
  readonly revokedAt: number | null
  readonly lastUsedAt: number | null
}

/** The state of a subject at this moment; the types below add its session or key. */
export interface Standing {
  /** The roles in the users record; undefined without a record. */
  readonly roles: readonly string[] | undefined
  readonly disabled: boolean
  /** The users record was deleted, and none of this id has come since. */
  readonly deleted: boolean
}

export interface SessionStanding extends Standing {
  /** When the session ends; 0 when it isn't this subject's, is unknown or has ended. */
  readonly sessionEndsAt: number
}

export interface KeyStanding extends Standing {
  readonly key: ApiKey
}

/** An engine that needn't wait answers at once, so that a request needn't either. */
type Soon<T> = T | Promise<T>

/**
 * Everything throws StoreUnavailable when the store can't answer. A decision record commits with the change that it is about; the
 * outbox gets none for a change that doesn't take place.
 */
export interface Directory {
  /** Tells all that was committed before the call, by any instance. */
  standing(subject: string): Soon<Standing>
  sessionStanding(subject: string, session: string): Soon<SessionStanding>
  /** Tells about the key's subject. Undefined for an unknown key. */
  keyStanding(id: string): Soon<KeyStanding | undefined>

  person(id: string): Promise<Person | undefined>
  /** The address exactly as the record has it. */
  personByEmail(email: string): Promise<Person | undefined>
  /** By id. */
  people(): Promise<readonly Person[]>
  /**
   * Adds a users record with its password, in one transaction. False, and nothing is added, where there are users, or where a
   * first user was added before.
   */
  addFirst(user: { readonly id: string; readonly document: Document }, password: NewPassword): Promise<boolean>
  /** Ends the user's sessions. False without such a users record. */
  setPassword(userId: string, password: NewPassword): Promise<boolean>
  /** A better hash of the same password: sessions stay. False when the hash isn't the stored one any more. */
  rehash(userId: string, hash: string, better: string): Promise<boolean>
  /** Ends the subject's sessions. Who signs in elsewhere has no users record and can be disabled all the same. */
  disable(subject: string): Promise<void>
  /** Also clears the mark that a users record was deleted. */
  enable(subject: string): Promise<void>

  /**
   * Opens a session after the password was verified. False when the password has changed, or the user is disabled or gone. The
   * same transaction spends a one-time password, so that only one of two sign-ins at the same time succeeds.
   */
  openSession(session: NewSession, verified: VerifiedPassword, record?: string): Promise<boolean>
  /** A session is of one user for all its life. Undefined when it has ended, or there is none. */
  userOfSession(id: string): Promise<string | undefined>
  refreshSession(refresh: Refresh, records?: RefreshRecords): Promise<Refreshed>
  /** False when it had ended, or there is none. */
  endSession(id: string, record?: string): Promise<boolean>

  /** Throws when the id is taken. */
  addKey(key: NewApiKey): Promise<void>
  /** Oldest first. */
  keys(): Promise<readonly ApiKey[]>
  /** False when there is no such key. A key that was revoked before stays as it is. */
  revokeKey(id: string): Promise<boolean>
  /** Key id -> when it was last used; an earlier time than the one kept changes nothing. */
  noteKeyUses(uses: ReadonlyMap<string, number>): Promise<void>
}
