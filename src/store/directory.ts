/**
 * The people and programs that may ask: accounts beside the users resource, sessions and API keys. Only the users
 * record holds e-mail, name and roles. Every write is one transaction, durable when it returns. The store gets hashes
 * of secrets, never the secrets. Times are milliseconds since the epoch.
 */
import type { AtMost } from '../decide/role-guarantees.ts'
import type { Document } from '../resources/object.ts'

export interface Account {
  /** A PHC string; null if the user can't sign in with a password. */
  readonly passwordHash: string | null
  /** The password is valid for one sign-in. */
  readonly oneTime: boolean
  readonly disabled: boolean
  readonly changedAt: number
}

/** A users record and the account that goes with it. */
export interface Person {
  readonly id: string
  /** As in the users record; empty if it has none. */
  readonly email: string
  readonly name: string
  readonly roles: readonly string[]
  /** Undefined until a password is set or the user is disabled. */
  readonly account: Account | undefined
}

export interface NewPassword {
  /** A PHC string. */
  readonly hash: string
  readonly oneTime: boolean
}

export interface VerifiedPassword {
  /** The stored hash that the current password was verified against. */
  readonly hash: string
  /** The hash of the new password; the user's other sessions end. */
  readonly next?: string | undefined
}

/**
 * The hashes of a refresh token: SHA-256 of its two secrets (base64url). `family` stays for the life of the session, so
 * that an older token is recognized without a list of all tokens. `current` changes with each use.
 */
export interface RefreshHashes {
  readonly family: string
  readonly current: string
}

export interface NewSession {
  /** Unique, but not secret: access tokens contain it as `sid`. */
  readonly id: string
  readonly userId: string
  readonly createdAt: number
  /** The session ends then in any case. */
  readonly endsAt: number
  /** The session ends then, unless it is refreshed before. */
  readonly idleEndsAt: number
  readonly refresh: RefreshHashes
}

type Session = Omit<NewSession, 'refresh'>

export interface Refresh {
  readonly session: string
  readonly presented: RefreshHashes
  /** The hash of the secret that replaces the current one. */
  readonly next: string
  readonly idleEndsAt: number
}

export type Refreshed =
  | RefreshChange
  /**
   * No such session; or the session has ended; or its user is disabled or deleted; or the session never had this token.
   */
  | { readonly kind: 'unknown' }

/** The changes that a refresh makes. */
export type RefreshChange =
  | { readonly kind: 'refreshed'; readonly session: Session; readonly person: Person }
  /** An older token of the family, so somebody has a copy. This call has ended the session. */
  | { readonly kind: 'reused'; readonly userId: string }

/** The decision records, one for each change that a refresh can make. */
export type RefreshRecords = Readonly<Record<RefreshChange['kind'], string>>

export interface NewApiKey {
  /** Public: the part before the secret, which also names the key. */
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
export interface AccountStatus {
  /** The roles in the users record; undefined without a record. */
  readonly roles: readonly string[] | undefined
  readonly disabled: boolean
  /** The users record was deleted, and no record with this id was created since. */
  readonly deleted: boolean
}

export interface SessionStatus extends AccountStatus {
  /** The time when the session ends; 0 if it belongs to another subject, is unknown or has ended. */
  readonly sessionEndsAt: number
}

export interface KeyStatus extends AccountStatus {
  readonly key: ApiKey
}

/** An engine that doesn't wait returns the value itself, so that a request needn't wait either. */
type Soon<T> = T | Promise<T>

/**
 * Every method throws StoreUnavailable if the store can't answer. A decision record commits together with its change;
 * if the change doesn't happen, the outbox gets no record.
 */
export interface Directory {
  /** Sees everything that any instance committed before the call. */
  accountStatus(subject: string): Soon<AccountStatus>
  sessionStatus(subject: string, session: string): Soon<SessionStatus>
  /** The state of the key's subject. Undefined for an unknown key. */
  keyStatus(id: string): Soon<KeyStatus | undefined>

  person(id: string): Promise<Person | undefined>
  /** The address must be exactly as in the users record. */
  personByEmail(email: string): Promise<Person | undefined>
  /** By id. */
  people(): Promise<readonly Person[]>
  /**
   * Adds a users record with its password, in one transaction. Returns false and adds nothing if there are users, or if
   * a first user was added before. Throws TooManyPeople.
   */
  addFirst(
    user: { readonly id: string; readonly document: Document },
    password: NewPassword,
    bounds?: readonly AtMost[],
  ): Promise<boolean>
  /** Ends the user's sessions. False if there is no such users record. */
  setPassword(userId: string, password: NewPassword): Promise<boolean>
  /**
   * Stores a better hash of the same password: sessions remain. False if the given hash is no longer the stored one.
   */
  rehash(userId: string, hash: string, better: string): Promise<boolean>
  /** Ends the subject's sessions. A subject that signs in elsewhere has no users record, but can also be disabled. */
  disable(subject: string): Promise<void>
  /** Also clears the mark that a users record was deleted. Throws TooManyPeople. */
  enable(subject: string, bounds?: readonly AtMost[]): Promise<void>

  /**
   * Opens a session after the password was verified. False if the password has changed, or the user is disabled or
   * deleted. The same transaction uses up a one-time password, so that only one of two simultaneous sign-ins succeeds.
   */
  openSession(session: NewSession, verified: VerifiedPassword, record?: string): Promise<boolean>
  /** The user of a session, who never changes. Undefined if the session has ended or doesn't exist. */
  userOfSession(id: string): Promise<string | undefined>
  refreshSession(refresh: Refresh, records?: RefreshRecords): Promise<Refreshed>
  /** False if the session has ended already or doesn't exist. */
  endSession(id: string, record?: string): Promise<boolean>

  /** Throws when the id is taken, and TooManyPeople. */
  addKey(key: NewApiKey, bounds?: readonly AtMost[]): Promise<void>
  /** Oldest first. */
  keys(): Promise<readonly ApiKey[]>
  /** False when there is no such key. A key that was revoked before stays as it is. */
  revokeKey(id: string): Promise<boolean>
  /** Key id -> the time of its last use; a time earlier than the stored one changes nothing. */
  noteKeyUses(uses: ReadonlyMap<string, number>): Promise<void>
}

// Failed sign-ins in a store: counters by key, shared by all instances and kept over a restart.

export interface Counter {
  readonly failures: number
  /** The time of the last failure; milliseconds since the epoch. */
  readonly at: number
  /** The counter ends at this time. */
  readonly expiresAt: number
}

export type Counters = ReadonlyMap<string, Counter>

export interface JudgedAttempts<T> {
  readonly verdict: T
  /** The new values of counters; undefined deletes a counter, an absent key doesn't change one. */
  readonly changes?: ReadonlyMap<string, Counter | undefined>
}

/** Throws StoreUnavailable. */
export interface Attempts {
  /**
   * One transaction: `judge` gets the counters that exist, and returns their new values. It may be called more than
   * once. Keys are opaque.
   */
  count<T>(keys: readonly string[], judge: (counters: Counters) => JudgedAttempts<T>): Promise<T>
}
