/** One command at a time changes a policy directory. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ReviewError } from '../review/load-policy.ts'
import { writeDurably } from './durable.ts'

const LOCK = '.lock'

/** Throws ReviewError while another command is at work. A lock whose process is gone doesn't count. */
export async function withLock<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const file = join(directory, LOCK)
  await takeLock(file)
  try {
    return await work()
  } finally {
    await rm(file, { force: true })
  }
}

async function takeLock(file: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await writeDurably(file, `${process.pid}\n`)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const holder = Number(await readFile(file, 'utf8').catch(() => '0'))
      if (isRunning(holder) || attempt > 3) {
        throw new ReviewError(
          `another command (process ${holder}) is changing these policies; try again when it has ended`,
        )
      }
      await rm(file, { force: true })
    }
  }
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
