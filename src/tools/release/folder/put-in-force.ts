/** Puts policy files in force: all at once, and so that a rollback is possible. */
import { userInfo } from 'node:os'
import { replaceLink } from '../../../base/files/durable-file.ts'
import { removeUnfinished } from '../../../base/files/new-files.ts'
import { readBlockedFile, revisionOfContent } from '../../../policy/policy-files.ts'
import { ToolError } from '../../load-policy.ts'
import { digestOf, type PolicyContent, readContent } from '../content.ts'
import { type PolicyVersion, readHistory, sweepUnused, writeVersion } from '../version.ts'
import { type Home, nameOf, removeFormer, settleHome } from './layout.ts'
import { withLock } from './lock.ts'
import { exchangeFiles, restore } from './swap-policy-files.ts'

/** The files to put in force, and the reason. */
export interface VersionChange {
  readonly content: PolicyContent
  /**
   * The digest of the files in force when the change was planned; another digest means that they were changed since.
   */
  readonly over: string
  readonly kind: 'applied' | 'rolled-back' | 'recovered'
  readonly reason: string | undefined
  readonly of: number | undefined
  readonly now: Date
}

/**
 * Returns the version that is now in force. A command that is killed at any point in here leaves either the files of
 * before or the new ones in force.
 */
export async function putInForce(given: Home, change: VersionChange): Promise<PolicyVersion> {
  const { directory } = given
  if (change.kind === 'recovered') throw new ToolError('a folder asks for no approvals: leave --recover out')
  return withLock(directory, async () => {
    await refuseChanged(directory, change.over)
    const home = await settleHome(given)
    for (const folder of [directory, home.versions]) await removeUnfinished(folder)
    await sweepUnused(home)
    await restore(home)
    const kept = await keepPresent(home, change.now)
    const version = await nextVersion(directory, change, kept.number + 1)
    await writeVersion(home, version, change.content)
    // Somebody may have saved a file since it was kept.
    await refuseChanged(directory, kept.digest)
    await exchangeFiles(home, change.content, nameOf(version))
    await removeFormer(home)
    return version
  })
}

async function refuseChanged(directory: string, over: string): Promise<void> {
  if (digestOf(await readContent(directory)) === over) return
  throw new ToolError(
    `the files of ${directory} have changed in the meantime, so nothing was done: run the command again`,
  )
}

/** The version in force. Before the first version, or if somebody has edited the files, the current files become one. */
async function keepPresent(home: Home, now: Date): Promise<PolicyVersion> {
  const last = (await readHistory(home)).at(-1)
  const present = await readContent(home.directory)
  return last?.digest === digestOf(present) ? last : keepAs(home, present, (last?.number ?? 0) + 1, now)
}

async function keepAs(home: Home, content: PolicyContent, number: number, now: Date): Promise<PolicyVersion> {
  const change = { content, kind: 'kept', reason: undefined, of: undefined, now } as const
  const version = await nextVersion(home.directory, change, number)
  await writeVersion(home, version, content)
  await replaceLink(home.current, nameOf(version))
  return version
}

async function nextVersion(
  directory: string,
  { content, kind, reason, of, now }: Omit<VersionChange, 'kind' | 'over'> & Pick<PolicyVersion, 'kind'>,
  number: number,
): Promise<PolicyVersion> {
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
