/** One version of the policy files: what it holds, who put it in force, when and why. */
import { mkdir, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ReviewError } from '../review/load-policy.ts'
import { digestOf, type PolicyContent, readContent } from './content.ts'
import { finish, syncDirectory, writeDurably } from './durable.ts'
import { currentOf, LIVE, linkTo, META, nameOf, numberOf, versionsOf } from './layout.ts'

export interface Version {
  /** Counts from 1; every change of what is in force has the next number. */
  readonly number: number
  /** As the server says it, with the blocked.txt of that time. */
  readonly revision: string
  /** RFC 3339, UTC. */
  readonly time: string
  /** The operating system's user who ran the command. */
  readonly user: string
  /** `kept`: files that were there, or were edited by hand, before the next version. */
  readonly kind: 'applied' | 'rolled-back' | 'kept'
  readonly reason: string | undefined
  /** The number of the version that a roll-back brought again. */
  readonly of: number | undefined
  /** SHA-256 of the files, hexadecimal: tells whether somebody edited them since. */
  readonly digest: string
}

/** In the order of their numbers; those that were in force, up to the one that is. Throws ReviewError where none is told. */
export async function readHistory(directory: string): Promise<readonly Version[]> {
  const last = await currentNumber(directory)
  const names = (await versionNames(directory)).filter((name) => (numberOf(name) ?? 0) <= last)
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(metaOf(directory, name), 'utf8'))))
}

/**
 * The number of the version in force; 0 where nothing was applied yet (a crash can have left the first one). A link that leads
 * nowhere tells nothing: all versions would seem to be left by a crash.
 */
async function currentNumber(directory: string): Promise<number> {
  const names = await versionNames(directory)
  const target = await readlink(currentOf(directory)).catch(() => undefined)
  const current = target === undefined ? undefined : names.find((name) => name === basename(dirname(target)))
  if (current !== undefined) return numberOf(current) ?? 0
  const last = names.at(-1)
  if (last === undefined || (target === undefined && numberOf(last) === 1)) return 0
  throw new ReviewError(
    `${currentOf(directory)} leads to none of the versions of ${directory}; point it at the one that is meant, as in: ln -sfn ${linkTo(last)} ${currentOf(directory)}`,
  )
}

export function readVersion(directory: string, version: Version): Promise<PolicyContent> {
  return readContent(join(versionsOf(directory), nameOf(version)))
}

/** Writes the whole folder under its name, or nothing. It isn't in force by that. */
export async function writeVersion(directory: string, version: Version, content: PolicyContent): Promise<void> {
  await finish(join(versionsOf(directory), nameOf(version)), (folder) => writeFolder(folder, version, content))
}

async function writeFolder(folder: string, version: Version, content: PolicyContent): Promise<void> {
  await mkdir(folder)
  await mkdir(join(folder, LIVE))
  for (const [name, bytes] of content) {
    await writeDurably(join(folder, name), bytes, 0o444)
    await writeDurably(join(folder, LIVE, name), bytes)
  }
  await syncDirectory(join(folder, LIVE))
  await writeDurably(join(folder, META), `${JSON.stringify(version, undefined, 2)}\n`)
  await syncDirectory(folder)
}

/** Versions that were written and never put in force, because a command ended in between. */
export async function sweepUnused(directory: string): Promise<void> {
  const last = await currentNumber(directory)
  const unused = (await versionNames(directory)).filter((name) => (numberOf(name) ?? 0) > last)
  for (const name of unused) await rm(join(versionsOf(directory), name), { recursive: true })
}

/** Whether the files are what the version was written with. */
export async function isIntact(directory: string, version: Version): Promise<boolean> {
  return digestOf(await readVersion(directory, version)) === version.digest
}

/** For people and programs; the digest is nobody's business. */
export function versionJson({
  number,
  revision,
  time,
  user,
  kind,
  reason,
  of,
}: Version): Readonly<Record<string, unknown>> {
  return { number, revision, time, user, kind, reason: reason ?? null, of: of ?? null }
}

async function versionNames(directory: string): Promise<readonly string[]> {
  const names = await readdir(versionsOf(directory)).catch(() => [])
  return names
    .filter((name) => numberOf(name) !== undefined)
    .toSorted((a, b) => (numberOf(a) ?? 0) - (numberOf(b) ?? 0))
}

function metaOf(directory: string, name: string): string {
  return join(versionsOf(directory), name, META)
}
