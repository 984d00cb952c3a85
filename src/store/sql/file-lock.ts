/**
 * A lock of the operating system on a file that has no other use. The system ends it with its process, however that
 * ends, and it holds for every process that the file's system serves, in other containers too. Node has no call for
 * such locks; SQLite takes them for each transaction (https://sqlite.org/lockingv3.html).
 */
import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, open, realpath, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** How often a file may be found to be another one, which its last holder has removed meanwhile. */
const ATTEMPTS = 10

/** SQLite would write into the file that a link leads to. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

/** https://sqlite.org/rescode.html */
const SQLITE_BUSY = 5
const SQLITE_NOTADB = 26

export interface FileLock {
  /** Removes the file. */
  release(): Promise<void>
}

/** `hasContent`: the file isn't one of this kind. Else it can't be opened or has no locks, as SQLite's message says. */
export class UnlockableFile extends Error {
  readonly hasContent: boolean
  constructor({ message, errcode }: LockFault) {
    super(message)
    this.name = 'UnlockableFile'
    this.hasContent = errcode === SQLITE_NOTADB
  }
}

type LockFault = Error & { readonly errcode?: number }

/** A process loses all its locks on a file when it closes it once, so it opens a file of this kind once at a time. */
const taken = new Set<string>()

/**
 * Creates the file if needed. Undefined while another holds its lock. A file that a killed process left behind is
 * locked by nobody. Throws UnlockableFile, and the system's error if the file can't be opened.
 */
export async function lockFile(file: string): Promise<FileLock | undefined> {
  const path = join(await realpath(dirname(file)), basename(file))
  if (taken.has(path)) return undefined
  taken.add(path)
  let lock: FileLock | undefined
  try {
    lock = await attemptLock(path)
    return lock
  } finally {
    if (!lock) taken.delete(path)
  }
}

async function attemptLock(path: string): Promise<FileLock | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    // While it is open, no other file gets its number. Closing it would end the lock.
    const handle = await open(path, FLAGS, 0o644)
    const outcome = await lockOpened(path, handle).catch(async (error) => {
      await handle.close()
      throw error
    })
    if (typeof outcome === 'object') return outcome
    await handle.close()
    if (outcome === 'taken') return undefined
  }
  return undefined
}

async function lockOpened(path: string, handle: FileHandle): Promise<FileLock | 'taken' | 'removed'> {
  const ours = await handle.stat({ bigint: true })
  const begun = beginOn(path)
  if (await isStill(path, ours)) {
    if (begun instanceof DatabaseSync) return heldLock(path, begun, handle)
    if (begun.errcode === SQLITE_BUSY) return 'taken'
    throw new UnlockableFile(begun)
  }
  if (begun instanceof DatabaseSync) begun.close()
  return 'removed'
}

/** A transaction, which holds the lock, or the reason why the lock wasn't taken. */
function beginOn(path: string): DatabaseSync | LockFault {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: 0 })
    database.exec('pragma journal_mode = memory; begin immediate')
    return database
  } catch (error) {
    database?.close()
    return error as LockFault
  }
}

function heldLock(path: string, database: DatabaseSync, handle: FileHandle): FileLock {
  return {
    async release() {
      try {
        await rm(path, { force: true })
      } finally {
        database.close()
        await handle.close()
        taken.delete(path)
      }
    },
  }
}

async function isStill(path: string, { dev, ino }: BigIntStats): Promise<boolean> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  return found !== undefined && found.dev === dev && found.ino === ino
}
