/**
 * The published versions of the policy in a database, and what instances tell about the versions that they follow. The
 * texts are opaque here: versions are signed, and whoever reads one verifies it. test/store/contract-policy-versions.ts
 * tests every engine.
 */

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

/** Publishers write no longer text. Somebody else's could keep instances from reading anything. */
export const LONGEST_SIGNED = 100_000

/** Instances that told nothing for so long are forgotten. */
export const FORGOTTEN_AFTER_MS = 24 * 60 * 60 * 1000
