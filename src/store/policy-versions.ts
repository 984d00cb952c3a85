/**
 * The published versions of the policy in a database, and what instances tell about the versions that they follow. The
 * texts are opaque here: versions are signed, and whoever reads one verifies it. test/store/contract-policy-versions.ts
 * tests every engine.
 */
import { createHash, randomUUID } from 'node:crypto'
import { StoreUnavailable } from './errors.ts'

/** Which database this is. It is made when the program first opens the versions of a database, and never changes. */
export interface DatabaseIdentity {
  readonly id: string
  /** The SHA-256 digests of the signed texts that were there before. */
  readonly former: readonly string[]
}

export interface StoredVersion {
  /** Counts from 1, without gaps. */
  readonly number: number
  /** The signed description of the version; it names its files by their digests. */
  readonly signed: string
}

export interface NewVersion extends StoredVersion {
  /** The texts of the version's files, by digest. Files that earlier versions have too may be absent. */
  readonly files: ReadonlyMap<string, string>
}

/** What an instance told last. */
export interface InstanceNote {
  readonly name: string
  readonly state: string
  /** By the clock of the database, because the clocks of instances may differ. */
  readonly ageMs: number
}

/** Any method throws StoreUnavailable. */
export interface PolicyVersions {
  home(): Promise<DatabaseIdentity>
  /** The number of the last version; 0 without any. */
  latest(): Promise<number>
  /**
   * The last version; of a longer text only the first LONGEST_SIGNED characters, which no key has signed. Each instance
   * asks many times a second; it doesn't wait behind the other questions.
   */
  last(): Promise<StoredVersion | undefined>
  get(number: number): Promise<string | undefined>
  /** All versions, by number. */
  all(): Promise<readonly StoredVersion[]>
  /** The text of a file. */
  file(digest: string): Promise<string | undefined>
  /**
   * Durable when it returns true. False, and nothing is stored, unless the number is the one after the last version's:
   * of several publishers with one number, one wins.
   */
  publish(version: NewVersion): Promise<boolean>
  /** Replaces what the instance told before. Forgets instances that told nothing for a day. */
  note(name: string, state: string): Promise<void>
  forget(name: string): Promise<void>
  /** By name. */
  instances(): Promise<readonly InstanceNote[]>
  close(): Promise<void>
}

/** Of the row that keeps it. */
export function identityIn(id: unknown, former: unknown): DatabaseIdentity {
  if (typeof id === 'string' && typeof former === 'string') return { id, former: JSON.parse(former) }
  throw new StoreUnavailable(new Error('the table `policy_database` has lost its row; start again'))
}

/** Call it in the transaction that stores the identity. */
export function newIdentity(present: readonly string[]): DatabaseIdentity {
  const former = present.map((signed) => createHash('sha256').update(signed).digest('hex'))
  return { id: randomUUID(), former }
}

/** Publishers write no longer text. Somebody else's could keep instances from reading anything. */
export const LONGEST_SIGNED = 100_000

/** Instances that told nothing for so long are forgotten. */
export const FORGOTTEN_AFTER_MS = 24 * 60 * 60 * 1000
