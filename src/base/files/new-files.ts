/** Writes files that don't exist yet: all of them, or none. */
import { randomUUID } from 'node:crypto'
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'

export interface NewFile {
  /** Its path within the folder, with `/`. */
  readonly name: string
  readonly text: string
}

/** The names that are taken in the folder. */
export async function takenNames(folder: string, names: readonly string[]): Promise<readonly string[]> {
  const there = await Promise.all(names.map((name) => exists(join(folder, name))))
  return names.filter((_, i) => there[i])
}

/**
 * Writes the files; `complete` may add more to the folder before it counts. A folder that doesn't exist yet appears
 * whole. In an existing folder, what was written is removed again if a write or `complete` fails. Throws what they throw.
 */
export async function writeNew(
  folder: string,
  files: readonly NewFile[],
  complete: (folder: string) => Promise<unknown> = async () => undefined,
): Promise<void> {
  if (await exists(folder)) return writeInto(folder, files, complete)
  const target = resolve(folder)
  const draft = join(dirname(target), `.${basename(target)}-${randomUUID()}`)
  try {
    await writeInto(draft, files, complete)
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
}

async function writeInto(
  folder: string,
  files: readonly NewFile[],
  complete: (folder: string) => Promise<unknown>,
): Promise<void> {
  const written: string[] = []
  try {
    for (const { name, text } of files) {
      const path = join(folder, name)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text, { flag: 'wx' })
      written.push(path)
    }
    await complete(folder)
  } catch (error) {
    await Promise.all(written.map((path) => rm(path, { force: true })))
    throw error
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
