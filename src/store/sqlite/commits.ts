/**
 * Writes of one turn of the event loop commit together: they share one wait for the disk, but each write succeeds or is
 * undone alone (docs/decisions/0075). A group begins, writes and commits without a pause, so that no read sees what
 * isn't durable.
 */
import type { DatabaseSync } from 'node:sqlite'
import { answering, inTransaction, inUndoneTransaction } from './database.ts'

/** A client that writes again and again has sent its next write by then. */
const ALONE_AFTER_MS = 10

interface WaitingCommit {
  /** Whether the work leaves anything to commit. */
  readonly stores: boolean
  /** Runs among others in the group's transaction. Throws only errors that make the whole group fail. */
  readonly attempt: () => void
  /** Runs as the whole group: an error undoes the transaction. */
  readonly attemptAlone: () => void
  /** Called when the group is durable. */
  readonly settle: () => void
  readonly fail: (error: unknown) => void
}

export class GroupCommits {
  readonly #database: DatabaseSync
  #waiting: WaitingCommit[] = []
  #endOfTurn: NodeJS.Immediate | undefined
  #later: NodeJS.Timeout | undefined

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /**
   * Soon runs `work` in a transaction. Resolves with its result when the commit is durable. Rejects with what `work`
   * threw, or with StoreUnavailable; then nothing of it is stored. A failed commit fails all work in it.
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
    if (group.length === 0) return
    this.#waiting = []
    try {
      this.#commit(group)
    } catch (error) {
      for (const { fail } of group) fail(error)
      return
    }
    for (const { settle } of group) settle()
  }

  #add<T>(work: () => T, stores = true): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(waitingOf({ database: this.#database, work, stores }, { resolve, reject }))
    })
  }

  #commit(group: readonly WaitingCommit[]): void {
    // A commit would wait for the disk even if all of it was undone.
    const transaction = group.some(({ stores }) => stores) ? inTransaction : inUndoneTransaction
    answering(() => {
      transaction(this.#database, () => {
        const [first, ...others] = group
        if (others.length === 0) first?.attemptAlone()
        else for (const { attempt } of group) attempt()
      })
    })
  }
}

interface PendingPromise<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

interface CommitWork<T> {
  readonly database: DatabaseSync
  readonly work: () => T
  readonly stores: boolean
}

function waitingOf<T>(
  { database, work, stores }: CommitWork<T>,
  { resolve, reject }: PendingPromise<T>,
): WaitingCommit {
  let settle: (() => void) | undefined
  return {
    stores,
    attempt: () => {
      try {
        const value = inSavepoint(database, work, stores ? RELEASE : UNDO)
        settle = () => resolve(value)
      } catch (error) {
        // After some errors (a full disk, for example) the engine has undone the transaction; the next statement would
        // commit alone.
        if (!database.isTransaction) throw error
        settle = () => reject(error)
      }
    },
    // A savepoint would copy the pages that the work changes to a file of its own, which a full disk may not hold.
    attemptAlone: () => {
      try {
        const value = work()
        settle = () => resolve(value)
      } catch (error) {
        reject(error)
        throw error
      }
    },
    settle: () => settle?.(),
    fail: reject,
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
