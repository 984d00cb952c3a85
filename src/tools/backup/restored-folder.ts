/**
 * The folder that a restore makes. Its content is made beside its final place, in the folder itself, and moved there when
 * it is whole. The schemas come last, and no server starts without them.
 */
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rename, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../base/files/make-folder.ts'
import { writingPlace } from '../../base/files/project-file.ts'
import { ToolError } from '../load-policy.ts'
import type { PartGroup } from './archive/manifest.ts'
import {
  beginUnfinished,
  type Leftover,
  leftoversIn,
  removeLeftover,
  syncFolder,
  type Unfinished,
} from './unfinished.ts'

const IN_ORDER = ['data', 'policies', 'migrations', 'schemas'] as const

const FOLDERS: Readonly<Record<Exclude<PartGroup, 'database'>, string>> = {
  keys: 'data/keys',
  policies: 'policies',
  schemas: 'schemas',
  migrations: 'migrations',
}

interface Begun {
  readonly directory: string
  readonly isNew: boolean
  readonly unfinished: Unfinished
  readonly leftovers: readonly Leftover[]
}

export class RestoredFolder {
  readonly #begun: Begun
  /** Those with files of parts. */
  readonly #folders = new Set<string>()

  private constructor(begun: Begun) {
    this.#begun = begun
  }

  get leftovers(): readonly Leftover[] {
    return this.#begun.leftovers
  }

  /** Makes the folder if it isn't there. Throws ToolError if it has anything but what a killed restore left. */
  static async begin(directory: string): Promise<RestoredFolder> {
    await writingPlace(directory)
    const isNew = !existsSync(directory)
    await makeFolder(directory)
    const leftovers = await leftoversIn(directory)
    await refuseContent(directory, leftovers)
    for (const leftover of leftovers) if (!(await removeLeftover(leftover))) throw notOurs(leftover)
    const unfinished = await beginUnfinished(directory, 'restore')
    await mkdir(join(unfinished.folder, 'data'), { mode: 0o700 })
    return new RestoredFolder({ directory, isNew, unfinished, leftovers })
  }

  /** The data folder, on its way. */
  get data(): string {
    return join(this.#begun.unfinished.folder, 'data')
  }

  /** Only for its owner. `name`: of a part of the group. Throws if there is such a file already. */
  async write(group: Exclude<PartGroup, 'database'>, name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const file = join(this.#begun.unfinished.folder, FOLDERS[group], name)
    await makeFolder(dirname(file))
    this.#folders.add(dirname(file))
    await using handle = await open(file, 'wx', 0o600)
    await handle.writeFile(content)
    await handle.sync()
  }

  /** Puts everything in its place. */
  async finish(): Promise<void> {
    const made = IN_ORDER.filter((name) => existsSync(join(this.#begun.unfinished.folder, name)))
    for (const folder of this.#folders) await syncFolder(folder)
    for (const name of made) await syncFolder(join(this.#begun.unfinished.folder, name))
    for (const name of made) await rename(join(this.#begun.unfinished.folder, name), join(this.#begun.directory, name))
    await syncFolder(this.#begun.directory)
    await this.#begun.unfinished.remove()
  }

  /** Leaves an empty folder, or none if there was none. */
  async abandon(): Promise<void> {
    const { directory, isNew, unfinished } = this.#begun
    await unfinished.remove()
    // Somebody else may have put something into it.
    if (isNew) await rmdir(directory).catch(() => undefined)
  }
}

function notOurs({ folder }: Leftover): ToolError {
  return new ToolError(
    `\`${folder}\` is left by a restore of another user: remove it as that user, or name another folder`,
  )
}

async function refuseContent(directory: string, leftovers: readonly Leftover[]): Promise<void> {
  const running = leftovers.find(({ isDead }) => !isDead)
  if (running) {
    throw new ToolError(
      `another restore into \`${directory}\` is running, or was ended on another machine: wait, or remove \`${running.folder}\``,
    )
  }
  const names = (await readdir(directory)).filter(
    (name) => !leftovers.some(({ folder }) => folder.endsWith(`/${name}`)),
  )
  if (names.length === 0) return
  if (leftovers.length === 0) throw new ToolError(`\`${directory}\` is not empty; name an empty folder`)
  const [{ folder }] = leftovers as readonly [Leftover]
  const what = (await isWhole(names, leftovers))
    ? `is not empty: an earlier restore into it is whole, and left \`${folder}\`; remove that, or name an empty folder`
    : 'holds a part of an earlier restore, which was ended; name an empty folder'
  throw new ToolError(`\`${directory}\` ${what}`)
}

/** Whether everything was in its place when the restore was ended. */
async function isWhole(names: readonly string[], leftovers: readonly Leftover[]): Promise<boolean> {
  const waiting = await Promise.all(leftovers.map(({ folder }) => readdir(folder)))
  return names.includes(IN_ORDER.at(-1) ?? '') && !waiting.flat().some((name) => IN_ORDER.some((one) => one === name))
}
