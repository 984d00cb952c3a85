/**
 * Exchanges plain files one after the other. Meanwhile `.before` holds the previous files, which are in force. When
 * `.before` is removed, all new files take over at once, and the new version is the current one; a command that is
 * killed earlier leaves the old files in force.
 */
import { lstat, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { finish, replaceFile, replaceLink, syncDirectory } from '../../../base/files/durable-file.ts'
import { unfinishedIn } from '../../../base/files/new-files.ts'
import { writingPlace } from '../../../base/files/project-file.ts'
import { BEFORE, CURRENT, findPolicyFolder, versionLink } from '../../../policy/policy-folder.ts'
import { type PolicyContent, readContent } from '../content.ts'
import { writeFiles } from '../version.ts'
import { type Home, VERSIONED_FILES } from './layout.ts'

/** `version`: the name of the new version. */
export async function exchangeFiles(home: Home, content: PolicyContent, version: string): Promise<void> {
  const { directory, current } = home
  const before = await readContent(directory)
  await finish(join(directory, BEFORE), async (folder) => {
    await writeFiles(folder, before)
    await symlink(await readlink(current), join(folder, CURRENT))
  })
  try {
    await writeAll(directory, content)
    await replaceLink(current, version)
  } catch (error) {
    // If that fails too, the previous files are in force until the next command.
    await restore(home).catch(() => undefined)
    throw error
  }
  await letGo(directory)
}

/** Undoes the exchange of a command that was killed or failed. */
export async function restore({ directory, current }: Home): Promise<void> {
  if (!(await isHeldBack(directory))) return
  await writeAll(directory, await readContent(directory))
  const target = await readlink(join(directory, BEFORE, CURRENT)).catch(() => undefined)
  if (target !== undefined) await replaceLink(current, target)
  await letGo(directory)
}

/** Whether a command is exchanging files, or was killed while exchanging them. */
export async function isHeldBack(directory: string): Promise<boolean> {
  return (await findPolicyFolder(directory, [])).held !== undefined
}

async function writeAll(directory: string, content: PolicyContent): Promise<void> {
  for (const name of VERSIONED_FILES) {
    const bytes = content.get(name)
    if (bytes) await writePlain(directory, name, bytes)
    else await rm(join(directory, name), { force: true })
  }
  await syncDirectory(directory)
}

/** A link that the user made stays a link; a link that `apply` of 0.1 made becomes a file. The mode doesn't change. */
async function writePlain(directory: string, name: string, bytes: Uint8Array): Promise<void> {
  const file = join(directory, name)
  const isLinked = await isLink(directory, name)
  const present = isLinked ? undefined : await readFile(file).catch(() => undefined)
  if (present?.equals(bytes)) return
  const path = isLinked ? file : await writingPlace(file)
  const mode = (await stat(path).catch(() => undefined))?.mode
  await replaceFile(path, bytes, mode === undefined ? undefined : mode & 0o777)
}

/** Whether the file is a link through `.current`. */
async function isLink(directory: string, name: string): Promise<boolean> {
  const file = join(directory, name)
  const found = await lstat(file).catch(() => undefined)
  return found?.isSymbolicLink() === true && (await readlink(file)) === versionLink(name)
}

async function letGo(directory: string): Promise<void> {
  const gone = unfinishedIn(directory)
  await rename(join(directory, BEFORE), gone)
  await syncDirectory(directory)
  await rm(gone, { recursive: true })
}
