/** One version of the policy files: its content, who put it in force, when and why. And its export to a folder. */

import { mkdir, readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { finish, syncDirectory, writeDurably } from '../../base/files/durable-file.ts'
import { writingPlace } from '../../base/files/project-file.ts'
import { systemReason } from '../../base/files/system-reason.ts'
import { BEFORE, CURRENT } from '../../policy/policy-folder.ts'
import type { SignedByPeople, SignedName } from '../../policy/published/signed-version.ts'
import type { VersionTexts } from '../../policy/published/version-chain.ts'
import { ToolError } from '../load-policy.ts'
import { digestOf, type PolicyContent, readContent } from './content.ts'
import { type Home, META, nameOf, numberOf, versionIn } from './folder/layout.ts'

export interface PolicyVersion {
  /** Counts from 1; every change of the files in force gets the next number. */
  readonly number: number
  /** The revision that the server reports, with the blocked.txt of that time. */
  readonly revision: string
  /** RFC 3339, UTC. */
  readonly time: string
  /** The operating system's user who ran the command. */
  readonly user: string
  /**
   * `kept`: files that were there, or were edited by hand, before the next version. Blocks make versions only in a
   * database.
   */
  readonly kind: 'applied' | 'rolled-back' | 'kept' | 'blocked' | 'unblocked' | 'approved' | 'recovered'
  readonly reason: string | undefined
  /** The number of the version that a rollback restored. */
  readonly of: number | undefined
  /** For a version that people have approved: the number of its proposal, and who has signed it. */
  readonly proposal?: number | undefined
  readonly signed?: SignedByPeople | undefined
  /** SHA-256 of the files, hexadecimal: shows whether somebody has edited them since. */
  readonly digest: string
}

/**
 * The versions that were in force, up to the current one, in the order of their numbers. Throws ToolError if the
 * current one is unknown.
 */
export async function readHistory(home: Home): Promise<readonly PolicyVersion[]> {
  const last = await currentNumber(home)
  const names = (await versionNames(home)).filter((name) => (numberOf(name) ?? 0) <= last)
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(join(home.versions, name, META), 'utf8'))))
}

/**
 * The number of the version in force; 0 if nothing was applied yet (a crash can have left the first version). A broken
 * link is an error: all versions would seem to be left by a crash.
 */
async function currentNumber(home: Home): Promise<number> {
  const names = await versionNames(home)
  const target =
    // During an exchange of files, and after an unfinished one.
    (await readlink(join(home.directory, BEFORE, CURRENT)).catch(() => undefined)) ??
    (await readlink(home.current).catch(() => undefined))
  const current = names.find((name) => name === versionIn(target ?? ''))
  if (current !== undefined) return numberOf(current) ?? 0
  const last = names.at(-1)
  if (last === undefined || (target === undefined && numberOf(last) === 1)) return 0
  throw new ToolError(
    `${home.current} does not lead to a version of ${home.directory}: link it to the right version, as in: ` +
      `ln -sfn ${last} ${home.current}`,
  )
}

export function readVersion({ versions }: Home, version: PolicyVersion): Promise<PolicyContent> {
  return readContent(join(versions, nameOf(version)))
}

/** Writes the whole folder under its name, or nothing. This doesn't put the version in force. */
export async function writeVersion(home: Home, version: PolicyVersion, content: PolicyContent): Promise<void> {
  await finish(join(home.versions, nameOf(version)), async (folder) => {
    await writeFiles(folder, content, 0o444)
    await writeDurably(join(folder, META), `${JSON.stringify(version, undefined, 2)}\n`)
    await syncDirectory(folder)
  })
}

/** A new folder of these files. */
export async function writeFiles(folder: string, content: PolicyContent, mode?: number): Promise<void> {
  await mkdir(folder)
  for (const [name, bytes] of content) await writeDurably(join(folder, name), bytes, mode)
  await syncDirectory(folder)
}

/** Versions that were written but never put in force, because a command ended in between. */
export async function sweepUnused(home: Home): Promise<void> {
  const last = await currentNumber(home)
  const unused = (await versionNames(home)).filter((name) => (numberOf(name) ?? 0) > last)
  for (const name of unused) await rm(join(home.versions, name), { recursive: true })
}

/** Whether the files are the same as when the version was written. */
export async function isIntact(home: Home, version: PolicyVersion): Promise<boolean> {
  return digestOf(await readVersion(home, version)) === version.digest
}

/** Throws ToolError if the files were edited. */
export async function readIntact(home: Home, version: PolicyVersion): Promise<PolicyContent> {
  if (await isIntact(home, version)) return readVersion(home, version)
  const which = `the files of version ${version.number}`
  throw new ToolError(`${which} were edited: choose another version of \`sallyport policy history\``)
}

/** The public description of a version; the digest is internal. */
export function versionJson({
  number,
  revision,
  time,
  user,
  kind,
  reason,
  of,
  proposal,
  signed,
}: PolicyVersion): Readonly<Record<string, unknown>> {
  const version = { number, revision, time, user, kind, reason: reason ?? null, of: of ?? null }
  if (!signed) return version
  const { author, approvers } = signed
  const json = ({ by, kid }: SignedName) => ({ by, key: kid })
  return { ...version, proposal: { number: proposal, author: json(author), approvers: approvers.map(json) } }
}

async function versionNames({ versions }: Home): Promise<readonly string[]> {
  const names = await readdir(versions).catch(() => [])
  return names
    .filter((name) => numberOf(name) !== undefined)
    .toSorted((a, b) => (numberOf(a) ?? 0) - (numberOf(b) ?? 0))
}

// ---- The files of a version in a new folder: all of them, or none.

/** Throws ToolError if the folder has something in it, or can't be made. */
export async function exportVersion(directory: string, texts: VersionTexts): Promise<void> {
  const parent = await writingPlace(dirname(resolve(directory)))
  const found = await stat(parent).catch(() => undefined)
  if (!found?.isDirectory()) throw new ToolError(`${parent} is not a directory: make it first`)
  if (!(await isFree(directory))) {
    throw new ToolError(`${directory} exists and is not an empty folder: name a folder that doesn't exist`)
  }
  const content = new Map([...texts].map(([name, text]) => [name, Buffer.from(text)]))
  // A folder that somebody fills meanwhile isn't replaced: the system refuses it.
  await finish(resolve(directory), (unfinished) => writeFiles(unfinished, content)).catch((error) => {
    throw new ToolError(`${directory} can't be written (${systemReason(error.code)}): name another folder`)
  })
}

async function isFree(directory: string): Promise<boolean> {
  try {
    return (await readdir(directory)).length === 0
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}
