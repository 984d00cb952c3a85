/** Names of files that are being written. They get their own names when they are complete. */
import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

const UNFINISHED = '.unfinished-'

/** How often an unfinished file may be lost. */
const ATTEMPTS = 5

export function unfinishedIn(directory: string): string {
  return join(directory, `${UNFINISHED}${randomUUID()}`)
}

/**
 * Gives `write` a name for an unfinished file, and another one if the file was removed meanwhile: who removes what killed
 * processes left can't tell which processes were killed.
 */
export async function writeUnfinished(directory: string, write: (unfinished: string) => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const unfinished = unfinishedIn(directory)
    try {
      return await write(unfinished)
    } catch (error) {
      const { code, path } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT' || path !== unfinished || attempt === ATTEMPTS) throw error
    }
  }
}

/** Removes what killed processes left. The folder may be missing. Others may be writing files, but no folders. */
export async function removeUnfinished(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  for (const name of names.filter((one) => one.startsWith(UNFINISHED))) {
    await rm(join(directory, name), { recursive: true, force: true })
  }
}
