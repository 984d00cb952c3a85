/**
 * Work in progress in a folder of its own, beside the place of the result. A process that is killed leaves the folder;
 * its name tells the process, so that the next command can remove it or name it.
 */

import { mkdirSync, rmSync } from 'node:fs'
import { open, readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'

const NAME = /^\.(?<of>.+)\.(?<host>[A-Za-z0-9-]+)-(?<pid>\d+)\.partial$/

export interface Unfinished {
  readonly folder: string
  /** Removes the folder with everything in it. */
  remove(): Promise<void>
}

export interface Leftover {
  readonly folder: string
  /** The name of the result that it was for. */
  readonly of: string
  /** Whether the result is there. */
  readonly isMade: boolean
  /** Whether its process has certainly ended. */
  readonly isDead: boolean
}

/** Removed also when a signal ends the process. */
export async function beginUnfinished(parent: string, of: string): Promise<Unfinished> {
  const folder = join(parent, `.${of}.${thisHost()}-${process.pid}.partial`)
  const end = () => {
    rmSync(folder, { recursive: true, force: true })
    process.exit(2)
  }
  const leaveSignals = () => {
    for (const signal of SIGNALS) process.off(signal, end)
  }
  for (const signal of SIGNALS) process.once(signal, end)
  try {
    // Made while no signal is dealt with: one that comes now finds the folder, and leaves nothing.
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    leaveSignals()
    throw error
  }
  return {
    folder,
    async remove() {
      leaveSignals()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** As `beginUnfinished`; first, what processes that have ended left for such a result is removed. */
export async function beginAgain(parent: string, of: string): Promise<Unfinished> {
  const dead = (await leftoversIn(parent)).filter((one) => one.of === of && one.isDead)
  for (const leftover of dead) await removeLeftover(leftover)
  return beginUnfinished(parent, of)
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** What earlier processes left in a folder. A folder that isn't there has nothing. */
export async function leftoversIn(parent: string): Promise<readonly Leftover[]> {
  const names = await readdir(parent).catch((error: NodeJS.ErrnoException): readonly string[] => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.flatMap((name) => {
    const { of, host, pid } = NAME.exec(name)?.groups ?? {}
    if (of === undefined) return []
    const isDead = host === thisHost() && !isRunning(Number(pid))
    return [{ folder: join(parent, name), of, isMade: names.includes(of), isDead }]
  })
}

/** False if it is another user's, who alone may remove what is in it. */
export async function removeLeftover({ folder }: Leftover): Promise<boolean> {
  try {
    await rm(folder, { recursive: true, force: true })
    return true
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    return false
  }
}

/** A new name in a folder outlasts a loss of power only when the folder was written too. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder)
  await handle.sync()
}

function thisHost(): string {
  return hostname().replace(/[^A-Za-z0-9-]/g, '-')
}

/** This process counts as ended: it has just begun, so the folder is of an earlier one with the same number. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
