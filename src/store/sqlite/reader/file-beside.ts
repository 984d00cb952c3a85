/**
 * A database file that is read while another process may begin to write to it, or end. Without a write-ahead log the file
 * is opened as one that nobody changes; if that turns out to be wrong, what was read meanwhile is read again.
 */
import { existsSync, statSync } from 'node:fs'
import { open as openFile, stat } from 'node:fs/promises'
import type { DatabaseSync } from 'node:sqlite'
import { StoreUnavailable } from '../../errors.ts'
import { answering, openReadOnly } from '../database.ts'

/** A server that begins or ends in each attempt is started over and over. */
const ATTEMPTS = 5

interface OpenedFile {
  readonly database: DatabaseSync
  /** Of the file that nobody changes; undefined where SQLite itself keeps readers and writers apart. */
  readonly unchanged: string | undefined
}

export class FileBeside {
  readonly #file: string
  #opened: OpenedFile

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

function open(file: string): OpenedFile {
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

// Which layout a database in a file has, beside its server or without one.

/** https://sqlite.org/fileformat.html#the_database_header */
const USER_VERSION_AT = 60
const MAGIC = 'SQLite format 3\0'

/**
 * Of a database in a file; undefined for a missing one. Makes no file: the database is opened only beside a server,
 * whose last writes stand in the log. Throws an error that says why it can't tell.
 */
export async function layoutOfFile(path: string): Promise<number | undefined> {
  if ((await sizeOf(`${path}-wal`)) > 0) return layoutWithLog(path)
  const file = await openFile(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  if (!file) return undefined
  try {
    const { buffer } = await file.read(Buffer.alloc(USER_VERSION_AT + 4), { position: 0 })
    return buffer.toString('latin1').startsWith(MAGIC) ? buffer.readUInt32BE(USER_VERSION_AT) : undefined
  } finally {
    await file.close()
  }
}

/** Without the index of the log, which a server makes, to open the database would make one. */
async function layoutWithLog(path: string): Promise<number> {
  if ((await sizeOf(`${path}-shm`)) === 0) throw new Error('its last writes are in a log that no server has open')
  const database = openReadOnly(path, { immutable: false })
  try {
    return Number(database.prepare('pragma user_version').get()?.user_version)
  } finally {
    database.close()
  }
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0
}
