/**
 * A database file that is read while another process may begin to write to it, or end. Without a write-ahead log the file
 * is opened as one that nobody changes; if that turns out to be wrong, what was read meanwhile is read again.
 */
import { existsSync, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { StoreUnavailable } from '../../errors.ts'
import { answering, openReadOnly } from '../database.ts'

/** A server that begins or ends in each attempt is started over and over. */
const ATTEMPTS = 5

interface Opened {
  readonly database: DatabaseSync
  /** Of the file that nobody changes; undefined where SQLite itself keeps readers and writers apart. */
  readonly unchanged: string | undefined
}

export class FileBeside {
  readonly #file: string
  #opened: Opened

  /** Throws StoreUnavailable when there is no such file or it can't be opened. */
  constructor(file: string) {
    if (!existsSync(file)) throw new StoreUnavailable(new Error('there is no such file'))
    this.#file = file
    this.#opened = open(file)
  }

  /** Throws errors of the contract. */
  async read<T>(work: (database: DatabaseSync) => T): Promise<T> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const { database, unchanged } = this.#opened
      const outcome = settle(() => answering(() => work(database)))
      if (unchanged === undefined || unchanged === stateOf(this.#file)) return outcome()
      database.close()
      this.#opened = open(this.#file)
    }
    throw new StoreUnavailable(new Error('the file changes all the time, as if servers were started and stopped'))
  }

  close(): void {
    if (this.#opened.database.isOpen) this.#opened.database.close()
  }
}

function open(file: string): Opened {
  const unchanged = stateOf(file)
  return { database: answering(() => openReadOnly(file, { immutable: unchanged !== undefined })), unchanged }
}

/** Changes with every change of the file. Undefined while the file has a write-ahead log, or is gone. */
function stateOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true })
  if (!found || existsSync(`${file}-wal`)) return undefined
  return [found.dev, found.ino, found.size, found.mtimeNs].join(' ')
}

function settle<T>(work: () => T): () => T {
  try {
    const result = work()
    return () => result
  } catch (error) {
    return () => {
      throw error
    }
  }
}
