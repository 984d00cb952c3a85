/** The lock that lets only one command at a time change a policy directory. */
import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { unfinishedIn, writeDurably } from './durable-file.ts'
import { obstacle } from './obstacle.ts'

const LOCK = '.lock'

/** Its message is one sentence that says what to do. */
class LockTaken extends Error {
  constructor(holder: string) {
    super(`another command (${holder}) is changing these policies: try again when it has ended`)
    this.name = 'LockTaken'
  }
}

/**
 * Throws LockTaken while another command is running, and ToolError if nothing can be written. A lock of a process
 * that has ended doesn't count.
 */
export async function withLock<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await whileLocked(directory, work)
  } catch (error) {
    throw obstacle(directory, error)
  }
}

async function whileLocked<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const file = join(directory, LOCK)
  await takeLock(directory, file)
  try {
    return await work()
  } finally {
    await rm(file, { force: true })
  }
}

async function takeLock(directory: string, file: string): Promise<void> {
  const mine = unfinishedIn(directory)
  try {
    await writeDurably(mine, `${process.pid} ${randomUUID()}\n`)
    for (let attempt = 1; attempt <= 3; attempt++) {
      // A link is created together with its content, or not at all.
      if (await linked(mine, file)) return
      await takeAwayStale(directory, file)
    }
    throw new LockTaken('another process')
  } finally {
    await rm(mine, { force: true })
  }
}

async function linked(mine: string, file: string): Promise<boolean> {
  try {
    await link(mine, file)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    // The holder of the lock deletes unfinished files, this one too.
    throw code === 'ENOENT' ? new LockTaken('another process') : error
  }
}

/**
 * Two commands may find the same stale lock. If the lock that a command then holds is another one, it belongs to a
 * running command, and is given back.
 */
async function takeAwayStale(directory: string, file: string): Promise<void> {
  const seen = await readFile(file, 'utf8').catch(() => undefined)
  if (seen === undefined) return
  const holder = Number(seen.split(' ')[0])
  if (isRunning(holder)) throw new LockTaken(`process ${holder}`)
  const taken = unfinishedIn(directory)
  await rename(file, taken).catch(() => undefined)
  const found = await readFile(taken, 'utf8').catch(() => seen)
  if (found !== seen) await linked(taken, file)
  await rm(taken, { force: true })
  if (found !== seen) throw new LockTaken('another process')
}

function isRunning(pid: number): boolean {
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
