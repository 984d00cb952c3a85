/**
 * Writes of one turn of the event loop commit together: they share one wait for the disk, but each write succeeds or is
 * undone alone (docs/decisions/0075). A group begins, writes and commits without a pause, so that no read sees what
 * isn't durable.
 */
import type { DatabaseSync } from 'node:sqlite'
import { answering, inTransaction, inUndoneTransaction, ofContract } from './database.ts'

/** A client that writes again and again has sent its next write by then. */
const ALONE_AFTER_MS = 10

interface WaitingCommit {
  readonly work: () => unknown
  /** Whether the work leaves something to commit. */
  readonly stores: boolean
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

export type Commits = Pick<GroupCommits, 'write' | 'join' | 'undone' | 'flush' | 'pause' | 'resume'>

export class GroupCommits {
  readonly #database: DatabaseSync
  #waiting: WaitingCommit[] = []
  #endOfTurn: NodeJS.Immediate | undefined
  #later: NodeJS.Timeout | undefined
  #isPaused = false

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /**
   * Soon runs `work` in a transaction. Resolves with its result when the commit is durable. Rejects with an error of the
   * contract (`answering`); then nothing of it is stored. A failed commit fails all work in it.
   */
  write<T>(work: () => T): Promise<T> {
    this.#endOfTurn ??= setImmediate(() => this.flush())
    return this.#add(work)
  }

  /**
   * Like `write`, but for work that no client waits for: commits with the next group, or alone if no group comes soon.
   */
  join<T>(work: () => T): Promise<T> {
    this.#later ??= setTimeout(() => this.flush(), ALONE_AFTER_MS)
    return this.#add(work)
  }

  /** Like `write`, but nothing of the work is stored: resolves with what it found. It sees the writes before it. */
  undone<T>(work: () => T): Promise<T> {
    this.#endOfTurn ??= setImmediate(() => this.flush())
    return this.#add(work, false)
  }

  /** Commits the waiting work. */
  flush(): void {
    clearImmediate(this.#endOfTurn)
    clearTimeout(this.#later)
    this.#endOfTurn = this.#later = undefined
    const group = this.#waiting
    if (group.length === 0 || this.#isPaused) return
    this.#waiting = []
    // A commit would wait for the disk even if all of it was undone.
    const transaction = group.some(({ stores }) => stores) ? inTransaction : inUndoneTransaction
    try {
      const outcomes = transaction(this.#database, () => this.#attempt(group))
      for (const settle of outcomes) settle()
    } catch (error) {
      for (const { reject } of group) reject(ofContract(error))
    }
  }

  /** Another connection of this thread has the lock. */
  pause(): void {
    this.#isPaused = true
  }

  async resume(): Promise<void> {
    this.#isPaused = false
    this.flush()
  }

  /** What tells each of the group how its work went. Throws errors that make the whole group fail. */
  #attempt(group: readonly WaitingCommit[]): readonly (() => void)[] {
    return group.map(({ work, stores, resolve, reject }) => {
      try {
        // A savepoint would copy the pages that the work changes to a file of its own, which a full disk may not hold.
        const value = group.length === 1 ? work() : inSavepoint(this.#database, work, stores ? RELEASE : UNDO)
        return () => resolve(value as never)
      } catch (error) {
        // After some errors (a full disk, for example) the engine has undone the transaction; the next statement would
        // commit alone.
        if (group.length === 1 || !this.#database.isTransaction) throw error
        return () => reject(ofContract(error))
      }
    })
  }

  #add<T>(work: () => T, stores = true): Promise<T> {
    return new Promise((resolve, reject) => this.#waiting.push({ work, stores, resolve, reject }))
  }
}

const RELEASE = 'release one'
const UNDO = 'rollback to one; release one'

/** An error undoes this work alone (https://sqlite.org/lang_savepoint.html). */
function inSavepoint<T>(database: DatabaseSync, work: () => T, end: typeof RELEASE | typeof UNDO): T {
  database.exec('savepoint one')
  try {
    const value = work()
    database.exec(end)
    return value
  } catch (error) {
    if (database.isTransaction) database.exec(UNDO)
    throw error
  }
}

/** Within a transaction that somebody else has begun, and ends: each work succeeds or is undone alone, at once. */
export class OpenCommits implements Commits {
  readonly #database: DatabaseSync

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  async write<T>(work: () => T): Promise<T> {
    return this.#within(work, RELEASE)
  }

  join<T>(work: () => T): Promise<T> {
    return this.write(work)
  }

  async undone<T>(work: () => T): Promise<T> {
    return this.#within(work, UNDO)
  }

  flush(): void {}
  pause(): void {}
  async resume(): Promise<void> {}

  #within<T>(work: () => T, end: typeof RELEASE | typeof UNDO): T {
    return answering(() => {
      // After some errors the engine has undone the transaction; the next statement would commit alone.
      if (!this.#database.isTransaction) throw new Error('the transaction has been undone')
      return inSavepoint(this.#database, work, end)
    })
  }
}
