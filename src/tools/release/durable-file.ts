/** File operations that survive a loss of power once they have returned. */

import { randomUUID } from 'node:crypto'
import { chmod, open, rename, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Begins the names of what a crash may leave behind, and the next command sweeps away. */
export const UNFINISHED = '.unfinished-'

export async function writeDurably(file: string, text: string | Uint8Array, mode = 0o644): Promise<void> {
  const handle = await open(file, 'wx', mode)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The names in a directory are part of the directory. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** A file of this text in the place of what was there, at one moment. */
export async function replaceFile(file: string, text: string | Uint8Array, mode?: number): Promise<void> {
  await finish(file, async (unfinished) => {
    await writeDurably(unfinished, text, mode)
    // What the process' umask took away.
    if (mode !== undefined) await chmod(unfinished, mode)
  })
}

/** A symbolic link in the place of what was there, at one moment. */
export async function replaceLink(link: string, target: string): Promise<void> {
  await finish(link, (unfinished) => symlink(target, unfinished))
}

/** What `make` makes, under its own name once it is whole; nothing when it fails: a full disk isn't to stay full of halves. */
export async function finish(path: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  const unfinished = unfinishedIn(dirname(path))
  try {
    await make(unfinished)
    await rename(unfinished, path)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    throw error
  }
  await syncDirectory(dirname(path))
}

export function unfinishedIn(directory: string): string {
  return join(directory, `${UNFINISHED}${randomUUID()}`)
}
