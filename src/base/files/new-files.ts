/** Writes files that don't exist yet: all of them, or none. */
import { randomUUID } from 'node:crypto'
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { exists, nameNew } from './name-new.ts'
import { isWithin } from './project-file.ts'
import { writeUnfinished } from './unfinished.ts'
import { type GoOn, whole } from './whole.ts'

export interface NewFile {
  /** Its path within the folder, with `/`. */
  readonly name: string
  /** A script, which begins with `#!`, can be run. */
  readonly text: string
}

/** The names that are taken in the folder. */
export async function takenNames(folder: string, names: readonly string[]): Promise<readonly string[]> {
  const there = await Promise.all(names.map((name) => exists(join(folder, name))))
  return names.filter((_, i) => there[i])
}

/**
 * Writes the files; `complete` may add more to the folder before it counts. A folder that doesn't exist yet appears
 * whole. In an existing folder, each file appears whole, in this order. What was written is removed again if a write or
 * `complete` fails, or a signal comes. Throws what they throw.
 */
export async function writeNew(
  folder: string,
  files: readonly NewFile[],
  complete: Complete = async () => undefined,
): Promise<void> {
  await whole(async (goOn) => {
    if (await exists(folder)) return writeInto(folder, files, complete, goOn)
    const target = resolve(folder)
    const draft = join(dirname(target), `.${basename(target)}-${randomUUID()}`)
    try {
      await writeInto(draft, files, complete, goOn)
      await rename(draft, target)
    } catch (error) {
      await rm(draft, { recursive: true, force: true })
      throw error
    }
  })
}

/** A folder on the way is a link: what is written would stand somewhere else. */
export class LeadsElsewhere extends Error {
  constructor(folder: string, name: string) {
    super(`\`${join(folder, dirname(name))}\` leads out of \`${folder}\`, and nothing was changed: remove the link`)
    this.name = 'LeadsElsewhere'
  }
}

type Complete = (folder: string, goOn: GoOn) => Promise<unknown>

async function writeInto(folder: string, files: readonly NewFile[], complete: Complete, goOn: GoOn): Promise<void> {
  /** Files and folders that weren't there before. */
  const made: string[] = []
  const real = await realpath(folder).catch(() => resolve(folder))
  try {
    for (const { name, text } of files) {
      await goOn()
      const path = join(folder, name)
      const first = await mkdir(dirname(path), { recursive: true })
      if (first !== undefined) made.push(first)
      if (!isWithin(await realpath(dirname(path)), real)) throw new LeadsElsewhere(folder, name)
      await writeWhole(path, text, () => made.push(path))
    }
    await goOn()
    await complete(folder, goOn)
  } catch (error) {
    for (const path of made) await rm(path, { recursive: true, force: true })
    throw error
  }
}

/** `appeared`: the file has its name. Throws EEXIST for a name that is taken. */
async function writeWhole(path: string, text: string, appeared: () => unknown): Promise<void> {
  await writeUnfinished(dirname(path), async (unfinished) => {
    try {
      const file = await open(unfinished, 'wx', text.startsWith('#!') ? 0o777 : 0o666)
      const written = file.writeFile(text).then(() => file.sync())
      await written.finally(() => file.close())
      await nameNew(unfinished, path)
      appeared()
    } finally {
      await rm(unfinished, { force: true })
    }
  })
}
