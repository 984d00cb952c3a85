/** File operations that survive a loss of power once they have returned. */
import { chmod, open, rename, rm, symlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writeUnfinished } from './new-files.ts'

export async function writeDurably(file: string, text: string | Uint8Array, mode = 0o644): Promise<void> {
  await using handle = await open(file, 'wx', mode)
  await handle.writeFile(text)
  await handle.sync()
}

/** A file's name is part of its directory, so the directory must be synced too. */
export async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory, 'r')
  await handle.sync()
}

/** Replaces a file by one with this text, atomically. */
export async function replaceFile(file: string, text: string | Uint8Array, mode?: number): Promise<void> {
  await finish(file, async (unfinished) => {
    await writeDurably(unfinished, text, mode)
    // Restores the mode bits that the umask of the process removed.
    if (mode !== undefined) await chmod(unfinished, mode)
  })
}

/** Replaces a file by a symbolic link, atomically. */
export async function replaceLink(link: string, target: string): Promise<void> {
  await finish(link, (unfinished) => symlink(target, unfinished))
}

/**
 * Renames what `make` creates to its final name when it is complete. Deletes it after a failure: incomplete files must
 * not fill the disk.
 */
export async function finish(path: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  await writeUnfinished(dirname(path), async (unfinished) => {
    try {
      await make(unfinished)
      await rename(unfinished, path)
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true })
      throw error
    }
  })
  await syncDirectory(dirname(path))
}
