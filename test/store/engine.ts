/** What the contract's tests need of an engine. */
import type { Resources } from '../../src/resources/resource.ts'
import type { ObjectQuery } from '../../src/store/contract.ts'
import type { ObjectReader } from '../../src/store/object-reader.ts'
import type { Opened } from './fixture.ts'

interface Setup {
  readonly resources: Resources
  readonly now: () => Date
  readonly indexFields?: ReadonlyMap<string, readonly string[]>
}

/** A database of its own, empty at first. */
export interface TestDatabase {
  /** A second call opens what the first one wrote, where the engine is one that keeps it. */
  open(setup: Setup): Promise<Opened>
  /** As a tool opens it beside a server, where the database is one that others can open. */
  openReader?(): Promise<ObjectReader>
  /** Writes a document into a row behind the store's back; of `Things`, which has no column beside it. */
  damage?(id: string, text: string): Promise<void>
  remove(): Promise<void>
}

export interface TestEngine {
  readonly name: string
  /** `shared`: instances share the database and it outlives them. `private`: it lives and dies with its one instance. */
  readonly keeps: 'shared' | 'private'
  /**
   * The part of the random inputs that this engine is given; all by default. 0: only what stands fixed. Whoever is given
   * all also tells that wrong answers would be found.
   */
  readonly share?: number
  /** Whether it migrates after it was written to: a server migrates before. */
  readonly migrates?: boolean
  create(): Promise<TestDatabase>
}

/** Opens the database of the running test. */
export type Open = () => Promise<Opened>

export const NEW_YEAR = '2026-01-01T00:00:00.000Z'

/** A clock that stands still until it is set. */
export class Clock {
  time = NEW_YEAR
  readonly now = () => new Date(this.time)
}

export const ALL: ObjectQuery = { where: { kind: 'always' }, limit: 1000 }
