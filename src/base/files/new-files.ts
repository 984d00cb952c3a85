/** Writes files that don't exist yet: all of them, or none. */
import { randomUUID } from 'node:crypto'
import { access, constants, link, lstat, open, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { makeFolder } from './make-folder.ts'
import { writingPlace } from './project-file.ts'

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
 * `complete` fails, or a signal comes. Throws what they throw, and LinkOut for a link that leads out of the folder.
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

/** Throws what making files in the folder would throw, and leaves nothing: for work that takes long before it writes. */
export async function tryFolder(folder: string): Promise<void> {
  await writingPlace(folder)
  const first = await makeFolder(folder, 0o777)
  try {
    await tryFileIn(folder)
  } finally {
    // Another process may have put something into them meanwhile.
    for (let made = resolve(folder); first !== undefined; made = dirname(made)) {
      await rmdir(made).catch(() => undefined)
      if (made === first) break
    }
  }
}

/** Throws what writing the file would throw, and leaves it as it is. */
export async function tryFile(file: string): Promise<void> {
  await writingPlace(file)
  if (!(await exists(file))) return tryFileIn(dirname(file))
  if ((await stat(file)).isDirectory()) throw Object.assign(new Error(file), { code: 'EISDIR' })
  await access(file, constants.W_OK)
}

async function tryFileIn(folder: string): Promise<void> {
  const unfinished = unfinishedIn(folder)
  await writeFile(unfinished, '', { flag: 'wx' })
  await rm(unfinished)
}

type Complete = (folder: string, goOn: GoOn) => Promise<unknown>

async function writeInto(folder: string, files: readonly NewFile[], complete: Complete, goOn: GoOn): Promise<void> {
  /** Files and folders that weren't there before. */
  const made: string[] = []
  try {
    for (const { name, text } of files) {
      await goOn()
      const path = join(folder, name)
      await writingPlace(dirname(path), folder)
      const first = await makeFolder(dirname(path), 0o777)
      if (first !== undefined) made.push(first)
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

// Gives a file that is complete its name, which no other file loses by this.

/** Some file systems have no links to files. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'])

/**
 * Throws EEXIST for a name that is taken, by another process a moment ago, too. A link never takes the place of another
 * file. The unfinished file may keep its own name as well: the caller removes it.
 */
export async function nameNew(unfinished: string, path: string): Promise<void> {
  try {
    await link(unfinished, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!NO_LINKS.has(code) || (await exists(path))) throw error
    await rename(unfinished, path)
  }
}

/** A link that leads nowhere exists, too. */
async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

// Work on several files that is done wholly or undone, also when the process gets a signal to end meanwhile.

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Throws once a signal has come. To be awaited between two writes. */
export type GoOn = () => Promise<void>

/**
 * While `work` runs, a signal doesn't end the process: it makes `goOn` throw, so that `work` undoes what it has done.
 * Then the signal ends the process. Where it comes too late for that, the work is done, and the process goes on.
 */
export async function whole<T>(work: (goOn: GoOn) => Promise<T>): Promise<T> {
  let received: NodeJS.Signals | undefined
  const note = (signal: NodeJS.Signals) => {
    received ??= signal
  }
  for (const signal of SIGNALS) process.on(signal, note)
  const goOn = async () => {
    // Node delivers signals between two turns of its loop.
    await setImmediate()
    if (received) throw new Error(`stopped by ${received}, and nothing was changed`)
  }
  let undone = true
  try {
    const result = await work(goOn)
    undone = false
    return result
  } finally {
    for (const signal of SIGNALS) process.off(signal, note)
    if (received && undone) process.kill(process.pid, received)
  }
}

// Names of files that are being written. They get their own names when they are complete.

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
