/** Puts policy files in force: all at once, and so that a rollback is possible. */
import { rm } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { replaceLink } from '../../../base/files/durable-file.ts'
import { removeUnfinished } from '../../../base/files/new-files.ts'
import { readBlockedFile, revisionOfContent } from '../../../policy/policy-files.ts'
import { versionLink } from '../../../policy/policy-folder.ts'
import { ToolError } from '../../load-policy.ts'
import { digestOf, type PolicyContent, readContent } from '../content.ts'
import { readHistory, sweepUnused, type Version, writeVersion } from '../version.ts'
import { type Home, linkTo, nameOf, VERSIONED_FILES } from './layout.ts'
import { withLock } from './lock.ts'
import { exchangeFiles, isLink, restore } from './swap-policy-files.ts'
import { removeFormer, settleHome } from './versions-folder.ts'

/** The files to put in force, and the reason. */
export interface VersionChange {
  readonly content: PolicyContent
  /**
   * The digest of the files in force when the change was planned; another digest means that they were changed since.
   */
  readonly over: string
  readonly kind: 'applied' | 'rolled-back'
  readonly reason: string | undefined
  readonly of: number | undefined
  readonly now: Date
}

/**
 * Returns the version that is now in force. A command that is killed at any point in here leaves either the files of
 * before or the new ones in force.
 */
export async function putInForce(given: Home, change: VersionChange): Promise<Version> {
  const { directory, plainVersions } = given
  return withLock(directory, async () => {
    await refuseChanged(directory, change.over)
    const home = await settleHome(given)
    await sweep(home)
    if (plainVersions !== undefined) await restore(home)
    const kept = await keepPresent(home, change.now)
    if (plainVersions === undefined) await linkFiles(directory, change.content)
    const version = await nextVersion(directory, change, kept.number + 1)
    await writeVersion(home, version, change.content)
    // Somebody may have saved a file since it was kept.
    await refuseChanged(directory, kept.digest)
    const target = linkTo(home, nameOf(version))
    if (plainVersions === undefined) {
      await replaceLink(home.current, target)
      await unlinkOthers(directory, change.content)
    } else {
      await exchangeFiles(home, change.content, target)
      await removeFormer(directory)
    }
    return version
  })
}

async function refuseChanged(directory: string, over: string): Promise<void> {
  if (digestOf(await readContent(directory)) === over) return
  throw new ToolError(
    `the files of ${directory} have changed in the meantime, so nothing was done: run the command again`,
  )
}

async function sweep(home: Home): Promise<void> {
  for (const folder of [home.directory, home.versions]) await removeUnfinished(folder)
  await sweepUnused(home)
}

/**
 * The version in force. Before the first version, or if somebody has edited the files, the current files become a
 * version of their own. Its content doesn't change while links replace the files.
 */
async function keepPresent(home: Home, now: Date): Promise<Version> {
  const last = (await readHistory(home)).at(-1)
  const present = await readContent(home.directory)
  const version = last?.digest === digestOf(present) ? last : await keepAs(home, present, (last?.number ?? 0) + 1, now)
  if (home.plainVersions === undefined) await linkFiles(home.directory, present)
  return version
}

async function linkFiles(directory: string, content: PolicyContent): Promise<void> {
  for (const name of content.keys()) {
    if (!(await isLink(directory, name))) await replaceLink(join(directory, name), versionLink(name))
  }
}

/** A broken link would make it hard to copy the folder file by file. */
async function unlinkOthers(directory: string, content: PolicyContent): Promise<void> {
  for (const name of VERSIONED_FILES) {
    if (!content.has(name) && (await isLink(directory, name))) await rm(join(directory, name))
  }
}

async function keepAs(home: Home, content: PolicyContent, number: number, now: Date): Promise<Version> {
  const change = { content, kind: 'kept', reason: undefined, of: undefined, now } as const
  const version = await nextVersion(home.directory, change, number)
  await writeVersion(home, version, content)
  await replaceLink(home.current, linkTo(home, nameOf(version)))
  return version
}

async function nextVersion(
  directory: string,
  { content, kind, reason, of, now }: Omit<VersionChange, 'kind' | 'over'> & Pick<Version, 'kind'>,
  number: number,
): Promise<Version> {
  const blocked = await readBlockedFile(directory).catch(() => undefined)
  return {
    number,
    revision: revisionOfContent(content, blocked?.text ?? ''),
    time: now.toISOString(),
    user: userInfo().username,
    kind,
    reason,
    of,
    digest: digestOf(content),
  }
}
