/**
 * Copies of a database file, made beside running servers, and put back into an empty place. PostgreSQL has tools of its
 * own.
 */

/** The name of a copy, and of the part of an archive that has it. */
export const COPY = 'sallyport.db'

/** A copy holds every write that was durable before it began, and nothing of any other. */
export interface DatabaseCopy {
  readonly file: string
  readonly facts: CopyFacts
}

/** What the copied database says of itself. */
export interface CopyFacts {
  readonly layout: number
  /** The number of objects, by the name of their table. */
  readonly objects: Readonly<Record<string, number>>
  readonly outbox: CopiedOutbox
  /** The number of the last published policy version; 0 without any. */
  readonly policySequence: number
  /** The texts of the signing keys in the database. */
  readonly signingKeys: readonly string[]
}

export interface CopiedOutbox {
  /** The number of the last write with a record; 0 without any. Numbers grow, and the copy has no later write. */
  readonly lastWrite: number
  /** Records that wait in the copy, and the number of the first one. */
  readonly waiting: number
  readonly firstWaiting: number | undefined
}

/** A place for a copy. Nothing of it can be used before `finish`. */
export interface DatabasePlace {
  take(content: AsyncIterable<Uint8Array>): Promise<void>
  /**
   * Makes the database durable, ready for a server. Numbers of later writes are higher than any number that the copied
   * database can have used meanwhile, and no process holds the outbox. Throws NotACopy, UnfitDatabase or
   * StoreUnavailable.
   */
  finish(): Promise<void>
  /** Leaves the place as empty as it was; does nothing after `finish`. */
  abandon(): Promise<void>
}

/** The content is no whole database. */
export class NotACopy extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'NotACopy'
  }
}

/** The place of a copy has something in it already. */
export class OccupiedDatabase extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'OccupiedDatabase'
  }
}
