/** Names of files that are being written. They get their own names when they are complete. */
import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

const UNFINISHED = '.unfinished-'

export function unfinishedIn(directory: string): string {
  return join(directory, `${UNFINISHED}${randomUUID()}`)
}

/** Removes what a killed process left. Nobody else may be writing to the folder; it may be missing. */
export async function removeUnfinished(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  for (const name of names.filter((one) => one.startsWith(UNFINISHED))) {
    await rm(join(directory, name), { recursive: true, force: true })
  }
}
