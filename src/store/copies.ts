/**
 * Copies of a whole database, made beside running servers and put back into an empty place. A copy is a list of parts
 * (names and bytes); only the engine that made them knows what is in them. PostgreSQL has tools of its own.
 */

/** A copy holds every write that was durable before it began, and nothing of any other. */
export interface DatabaseCopy {
  /** The parts, to be read one after the other. Throws StoreUnavailable. */
  parts(): AsyncIterable<CopiedPart>
  /** Must be called after the parts were read. */
  facts(): CopyFacts
  /** Gives up what the copy holds. The facts remain. */
  close(): Promise<void>
}

export interface CopiedPart {
  /** Lower-case letters, digits, `.`, `-` and `/`; a name of its own. */
  readonly name: string
  readonly bytes: number
  readonly content: AsyncIterable<Uint8Array>
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
  /** In the order of the copy. Throws NotACopy, or StoreUnavailable. */
  take(name: string, content: AsyncIterable<Uint8Array>): Promise<void>
  /**
   * Makes the database durable, ready for a server. Numbers of later writes are higher than any number that the copied
   * database can have used meanwhile, and no process holds the outbox. Throws NotACopy, UnfitDatabase or
   * StoreUnavailable.
   */
  finish(): Promise<void>
  /** Leaves the place as empty as it was; does nothing after `finish`. */
  abandon(): Promise<void>
}

/** The parts don't make a database. */
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

/** Far more writes than a server makes between a copy and its end, and far below 2^53 after many copies. */
const WRITES_LEFT_OUT = 1_000_000_000

/** The number before that of the first write after a copy was put back. */
export function lastNumberBefore(lastWrite: number): number {
  return (Math.floor(lastWrite / WRITES_LEFT_OUT) + 1) * WRITES_LEFT_OUT
}
