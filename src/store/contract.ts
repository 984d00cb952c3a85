/**
 * The promises of a store, whichever engine keeps the objects. test/store/contract.ts tests them with every engine. A
 * write takes a permit, and a permit holds the object that was checked, so nothing else can be written.
 */
import type { Condition, Lookup } from '../decide/conditions/condition.ts'
import type { AlongPermit, Permit } from '../decide/permits/permit.ts'
import type { AtMost } from '../decide/role-guarantees.ts'
import type { Document, Scalar, StoredObject } from '../resources/object.ts'
import type { Field, Resources } from '../resources/resource.ts'
import type { ComparedBy, Comparison } from '../resources/routing/query.ts'
import type { ObjectChanges, WrittenBy } from './changes.ts'
import type { Deliveries } from './deliveries.ts'
import type { Attempts, Directory } from './directory.ts'
import type { MemberCutter } from './lists/member-cutter.ts'
import type { ReadBounds } from './lists/read-bounds.ts'
import type { Migrations } from './migrations.ts'
import type { Examined, ObjectReader } from './object-reader.ts'
import type { InstanceDatabase } from './sql/instances.ts'

/** An object as a list finds it. Most objects are only passed on, so the engine needn't parse their stored text. */
export interface ListedObject {
  readonly id: string
  /** For each of the query's `marks` whether it holds for the object. */
  readonly marks: readonly boolean[]
  /** The shown fields as JSON text, in the order of `represent`. Throws DamagedObject. */
  json(shown: MemberCutter): string
  /** The bytes of the whole object in an answer, or a few more. */
  bytes(): number
  /** At least `bytes()`, and cheaper. */
  bytesAtMost(): number
}

/** One sort key. The ascending order is: no value, numbers, texts by code points, false, true, lists. */
export interface SortKey {
  readonly field: string
  readonly by: ComparedBy
  readonly descending: boolean
}

/** The value that an object is sorted by: null for no value, an empty list for any list. */
export type SortValue = Scalar | null | readonly []

export interface ObjectQuery {
  readonly where: Condition
  /** All of them hold. */
  readonly filter?: readonly Comparison[]
  /** The most objects. */
  readonly limit: number
  /**
   * The list ends with the object that makes it larger than this (sum of `bytes()`), but not before its second object.
   */
  readonly bytes?: number
  /** Sorted by the first key, then by the next; the last key is the id. Sorted by the id alone when not given. */
  readonly order?: readonly SortKey[]
  /** Only objects after this place in the order: a value for each key. */
  readonly after?: readonly SortValue[]
  /** Further conditions, which don't select: the list says for each object whether they hold. */
  readonly marks?: readonly Condition[]
}

/** What is computed over the objects that a list would hold. */
export interface AggregateQuery extends Pick<ObjectQuery, 'where' | 'filter'> {
  /** Objects with the same values of these fields are a group. Without such a field, all objects are one. */
  readonly by: readonly Pick<Field, 'name' | 'type'>[]
  /** The fields whose numbers are looked at. */
  readonly of: readonly string[]
  /** The most groups. */
  readonly limit: number
}

/** In bytes: a client could make a thousand groups of texts that are as long as objects may be. */
export const LONGEST_GROUPED = 350

export interface AggregatedGroup {
  /** One for each field of `by`: null for a missing value, and for one of another type than the field's. */
  readonly values: readonly (Scalar | null)[]
  /** A text takes more than LONGEST_GROUPED bytes. All such texts are one group, with another text in their place. */
  readonly isCut: boolean
  /** Of objects. */
  readonly count: number
  /** One for each field of `of`. */
  readonly numbers: readonly NumbersFound[]
}

/** Of a field's numbers, as decimal texts with all digits. */
export interface NumbersFound {
  readonly count: number
  readonly sum: string
  /** Null where there is no number. */
  readonly least: string | null
  readonly most: string | null
}

/** Who waits for a read. It ends when its client is gone, and one caller's reads don't hold up those of others. */
export interface ReadBy {
  /** Names the caller among others. */
  readonly whose: string
  readonly gone?: () => AbortSignal
  /** Asked when a read begins that had to wait: throws if its answer couldn't be given any more. */
  readonly mayBegin?: () => void
}

export interface Counted {
  /** How many objects were found. */
  readonly found: number
  /** Whether these are all; else there may be more. */
  readonly isExact: boolean
}

/**
 * The options of a write, besides its permit. The record and the idempotency key commit with the write, or not at all.
 */
export interface WriteOptions {
  /** The time of the write: RFC 3339, UTC, milliseconds. If absent, the store's own clock. */
  readonly time?: string
  /** The decision record: one line of JSON, without its end. The outbox keeps it until it is in the log. */
  readonly record?: string
  /** Who wrote, for the log of changes. */
  readonly by?: WrittenBy
}

export interface ReplayedOptions extends WriteOptions {
  /** The idempotency key under which the object is created or, by a command, updated. */
  readonly replay?: Replay | undefined
}

/** `along`: objects that a command creates, all with the update or none. */
export interface UpdateOptions extends ReplayedOptions {
  readonly along?: readonly AlongPermit[] | undefined
}

export interface DeleteOptions extends WriteOptions {
  /** Writes of objects that refer to the deleted one: all of them commit with it, or nothing does. */
  readonly along?: readonly AlongPermit[] | undefined
}

/** An idempotency key belongs to one caller, on one route. */
export interface ReplayKey {
  readonly subject: string
  readonly route: string
  readonly key: string
}

export interface Replay extends ReplayKey {
  /** Different payloads have different fingerprints. */
  readonly fingerprint: string
}

/** The object that was written under an idempotency key, as it was then. */
export interface Kept {
  readonly fingerprint: string
  readonly object: StoredObject
}

export interface Store {
  /** At once where the engine can. */
  get(resource: string, id: string): StoredObject | undefined | Promise<StoredObject | undefined>
  /**
   * What was acknowledged before the call is seen. Throws ReadTooLong, TooManyReads, or the reason why `by` is gone. A
   * frozen result is given again, by an engine that finds the same rows with the same content.
   */
  list(resource: string, query: ObjectQuery, by?: ReadBy): Promise<readonly ListedObject[]>
  /** The number of objects that `list` would return without a limit, as far as they are found in time. Throws as `list`. */
  count(resource: string, query: Pick<ObjectQuery, 'where' | 'filter'>, by?: ReadBy): Promise<Counted>
  /** The groups, in no order. Sums are exact. Throws as `list`. */
  aggregate(resource: string, query: AggregateQuery, by?: ReadBy): Promise<readonly AggregatedGroup[]>
  /** Whether such an object is stored; at once where the engine can. Throws ReadTooLong. `whose`: names who asks. */
  lookup(lookup: Lookup, whose?: string): boolean | Promise<boolean>
  /**
   * Reads that are answered at once, of this store and its directory, see one state in `work` and cost less. It must not
   * write.
   */
  inOneReadTransaction<T>(work: () => T): T
  /** The same as it would be right after this write, which isn't done. Throws what the write would throw. */
  lookupAfter(permit: Permit<'create'> | Permit<'update'>, lookup: Lookup, whose?: string): Promise<boolean>
  /** The object that was created under the key in the last 24 hours. */
  kept(key: ReplayKey): Promise<Kept | undefined>
  /**
   * Durable when it returns. Throws UniqueTaken, TooManyPeople, ReplayTaken if an object was already created under the idempotency key,
   * or StaleObject when something that the permit rests on has changed.
   */
  create(permit: Permit<'create'>, options?: ReplayedOptions): Promise<StoredObject>
  /** Durable when it returns. Throws UniqueTaken, TooManyPeople, ReplayTaken, or StaleObject when the stored version isn't the permit's. */
  update(permit: Permit<'update'>, options?: UpdateOptions): Promise<StoredObject>
  /** Durable when it returns. Throws StaleObject when a stored version isn't that of its permit. */
  delete(permit: Permit<'delete'>, options?: DeleteOptions): Promise<void>
  /** 32 random bytes, made on first use, the same for every instance that shares the database. */
  secret(name: string): Promise<Uint8Array>
  /** Rejects if the store can't answer, accepts no writes, or was moved. May write, at most once a second. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** A record that a write left; records are in the order of the commits. */
export interface OutboxRecord {
  /** Grows with every write; never used twice. */
  readonly sequence: number
  readonly record: string
}

/** The newest checkpoints of decision logs: whoever cuts a log together with its tree doesn't cut them. */
export interface LogCheckpoints {
  /** `log`: its name, which nobody else has. */
  checkpointOf(log: string): Promise<string | undefined>
  keepCheckpoint(log: string, note: string): Promise<void>
}

/** What decision logs of one database show each other. Names have no spaces; the longest texts are never read. */
export interface LogCosignatures {
  /** Replaces what the log offered before. Forgets old offers, and old signatures of this log beyond the newest ones. */
  offer(log: string, text: string): Promise<void>
  /** Of the last thirty days by the database's clock, the newest first, at most MOST_OFFERS. */
  offers(): Promise<readonly LogOffer[]>
  /** Replaces what this one signed of the log before. */
  cosign(log: string, by: string, note: string): Promise<void>
  /** The newest first, at most MOST_COSIGNATURES. */
  cosignaturesOf(log: string): Promise<readonly LogCosignature[]>
}

export interface LogOffer {
  readonly log: string
  readonly text: string
}

export interface LogCosignature {
  /** The name of the log whose instance has signed. */
  readonly by: string
  readonly note: string
}

/** The records of writes that may not be in the decision log yet. */
export interface Outbox extends LogCheckpoints, LogCosignatures {
  /** The records with the lowest numbers, at most `limit`. */
  waiting(limit: number): Promise<readonly OutboxRecord[]>
  /** Adds records of requests that wrote no object, for a process without a decision log. Durable when it returns. */
  note(records: readonly string[]): Promise<void>
  /** Deletes all records up to this number. */
  shipped(sequence: number): Promise<void>
  /**
   * Whether this holder, and no other one, ships for the next second. The first holder to ask keeps the outbox until it
   * releases the outbox or hasn't asked for a second, even if the clock is set meanwhile. A holder's name is a random
   * UUID.
   */
  hold(holder: string): Promise<boolean>
  release(holder: string): Promise<void>
}

/**
 * Writes for set-up (demo data, tests, directory commands). No request can reach them, so they carry no permit. Those with
 * bounds throw TooManyPeople.
 */
export interface Seeding {
  insert(
    resource: string,
    objects: readonly { readonly id: string; readonly document: Document }[],
    bounds?: readonly AtMost[],
  ): Promise<void>
  /** Throws StaleObject when the stored version is another one, and UniqueTaken. */
  replace(
    resource: string,
    object: { readonly id: string; readonly version: number; readonly document: Document },
    bounds?: readonly AtMost[],
  ): Promise<void>
  /** Throws StaleObject when the stored version is another one. */
  remove(resource: string, object: { readonly id: string; readonly version: number }): Promise<void>
  /** The kind of data in the database, e.g. `demo`; undefined in a new database. */
  readMark(name: string): Promise<string | undefined>
  writeMark(name: string, value: string): Promise<void>
  /** Number of objects of a resource. */
  count(resource: string): Promise<number>
}

/** One database with all its interfaces; closing the store closes them all. */
export interface OpenedStore {
  readonly store: Store
  readonly seeding: Seeding
  readonly outbox: Outbox
  readonly directory: Directory
  readonly attempts: Attempts
  readonly migrations: Migrations
  readonly changes: ObjectChanges
  readonly deliveries: Deliveries
  /** Undefined for a database that has one connection, in memory. */
  readonly transactions?: Transactions | undefined
}

/** What a transaction has of the database. Its reads see its writes, and nobody else does before it commits. */
export interface OpenTransaction extends Pick<OpenedStore, 'store' | 'directory' | 'outbox' | 'changes'> {
  /** Keeps an object under an idempotency key, as a create does. Throws ReplayTaken. */
  keep(replay: Replay, object: StoredObject): Promise<void>
}

/** Several requests commit together. The writes of others wait meanwhile, and so do other transactions. */
export interface Transactions {
  /**
   * Commits when `work` resolves: durable when it returns. Nothing is stored if `work` throws, and after
   * TransactionTooLong. Throws what `work` throws, TransactionTooLong, and StoreUnavailable.
   */
  run<T>(work: (open: OpenTransaction) => Promise<T>): Promise<T>
}

/** The module of an engine, a folder of src/store/; loaded when it is needed. */
export interface StoreEngine {
  readonly open: (database: string, options: OpenOptions) => Promise<OpenedStore>
  readonly openBeside: (database: string, options: Omit<OpenOptions, 'indexFields'>) => Promise<OpenedStore>
  readonly openReader: (database: string) => Promise<ObjectReader>
  readonly examine: (database: string, options: ExamineOptions) => Promise<Examined>
  /** Of a database in a file, without changing it; undefined where there is no file. */
  readonly layoutOf: (database: string) => Promise<number | undefined>
  /** The command that fixes what kept a database from being opened; undefined if no command does. */
  readonly fixOf: (database: string, cause: unknown) => string | undefined
  /** Throws StoreUnavailable. */
  readonly openInstances: (
    database: string,
    kind: 'keys' | 'versions',
    writer?: WritePlace,
  ) => Promise<InstanceDatabase>
}

/** For a look that changes nothing, and holds no lock that keeps a writer waiting. */
export interface ExamineOptions {
  readonly connections: ConnectionSettings
  /** Processes that open connections, over all instances. */
  readonly processes: number
}

/** How a process uses an engine that it reaches by connections. */
export interface ConnectionSettings {
  /** The most connections. */
  readonly most: number
  /** `transaction`: a pooler gives a connection for one transaction, so nothing outlives it. */
  readonly pooler: 'none' | 'transaction'
}

/**
 * Where an engine writes whose writes stop the thread that makes them: `here`, or in a thread of its own, so that no
 * request waits for the disk or for another process's lock. An engine that is reached by connections ignores it.
 */
export type WritePlace = 'here' | 'thread'

export interface OpenOptions {
  readonly resources: Resources
  readonly now: () => Date
  readonly connections?: ConnectionSettings
  /** `here` when not given. */
  readonly writer?: WritePlace
  /** READ_BOUNDS when not given. */
  readonly reads?: ReadBounds
  /** Resource -> fields to index in addition to those that the resource declares: the fields that relations compare. */
  readonly indexFields?: ReadonlyMap<string, readonly string[]>
}
