/**
 * Where the versions of a policy directory are: in `.versions` of the directory, or under DATA_DIR if the directory is
 * part of a git work tree, because git would stage them with each commit.
 *
 *     policies/policy.csv                            and so on
 *     policies/.versions/.current -> 0007-1a2b3c4d5e6f7081
 *     policies/.versions/0007-1a2b3c4d5e6f7081/      policy.csv …, version.json
 *     data/policy-versions/..%2Fpolicies/            the same, for a directory in a work tree
 *
 * While the files are written one by one, `policies/.before` holds the previous files, which are in force. Removing
 * `.before` is the atomic step. A version above the current one was never in force: a crash left it.
 *
 * In 0.1 `policies/policy.csv` was a link to `.current/policy.csv`, and `policies/.current` a link to
 * `.versions/0007-1a2b3c4d5e6f7081/live`, a copy of the version. The next change rewrites that.
 */
import { createHash } from 'node:crypto'
import { existsSync, lstatSync } from 'node:fs'
import { cp, readdir, readlink, realpath, rm } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { finish, replaceLink } from '../../../base/files/durable-file.ts'
import { makeFolder } from '../../../base/files/make-folder.ts'
import { RULE_FILES } from '../../../policy/policy-files.ts'
import { CURRENT } from '../../../policy/policy-folder.ts'
import { obstacle } from './lock.ts'

export const VERSIONS = '.versions'
export const META = 'version.json'
/** Of 0.1: the copy of a version that the files in force were links to. */
const LIVE = 'live'

/** blocked.txt has no versions: no change of rules, and no rollback, ever unblocks anybody. */
export const VERSIONED_FILES: readonly string[] = RULE_FILES

export interface Home {
  readonly directory: string
  /** The folder in which the versions are now. */
  readonly versions: string
  /** The link to the version that was put in force last. */
  readonly current: string
  /** The folder in which the next change puts the versions. */
  readonly settled: string
}

/** File systems allow 255 bytes, some fewer. */
const LONGEST_NAME = 140

/** `data` is DATA_DIR. */
export async function homeOf(directory: string, data: string): Promise<Home> {
  const real = await withoutLinks(resolve(directory))
  const inside = join(directory, VERSIONS)
  // The name is the relative path between the two, so that both can move together.
  const settled = isInWorkTree(real)
    ? join(data, 'policy-versions', folderName(relative(await withoutLinks(resolve(data)), real)))
    : inside
  const first = { versions: settled, current: join(settled, CURRENT) }
  const former = [join(inside, CURRENT), join(directory, CURRENT)].map((current) => ({ versions: inside, current }))
  return { directory, settled, ...([first, ...former].find(({ current }) => isThere(current)) ?? first) }
}

/** Also works for a path that doesn't exist yet: the result is the same as later. */
async function withoutLinks(path: string): Promise<string> {
  return realpath(path).catch(async () => {
    return path === dirname(path) ? path : join(await withoutLinks(dirname(path)), basename(path))
  })
}

/** A long name is shortened to its end and a digest. */
function folderName(way: string): string {
  const name = encodeURIComponent(way)
  if (name.length <= LONGEST_NAME) return name
  return `${name.slice(-100)}-${createHash('sha256').update(way).digest('hex').slice(0, 16)}`
}

function isInWorkTree(real: string): boolean {
  if (existsSync(join(real, '.git'))) return true
  const parent = dirname(real)
  return parent !== real && isInWorkTree(parent)
}

/** Creates the folder of the versions, or brings versions that are elsewhere, or in the layout of 0.1, to it. */
export async function settleHome(home: Home): Promise<Home> {
  const { directory, settled: versions } = home
  const settled: Home = { directory, versions, current: join(versions, CURRENT), settled: versions }
  await makeFolder(dirname(versions)).catch((error) => {
    throw obstacle(dirname(versions), error)
  })
  const last = versionIn(await readlink(home.current).catch(() => ''))
  if (home.versions === versions) {
    await makeFolder(versions)
    if (home.current !== settled.current && last !== undefined) await replaceLink(settled.current, last)
    return settled
  }
  await finish(versions, async (unfinished) => {
    const filter = (path: string) => ![CURRENT, LIVE].includes(basename(path))
    await cp(home.versions, unfinished, { recursive: true, filter })
    if (last !== undefined) await replaceLink(join(unfinished, CURRENT), last)
  })
  return settled
}

/** What `settleHome` brought here from elsewhere, once the files in force are no longer links to it. */
export async function removeFormer({ directory, versions }: Home): Promise<void> {
  const inside = join(directory, VERSIONS)
  const link = join(directory, CURRENT)
  if (versions !== inside) await rm(inside, { recursive: true, force: true })
  else if (isThere(link)) {
    for (const name of await readdir(versions)) await rm(join(versions, name, LIVE), { recursive: true, force: true })
  }
  // The link goes last: the next change continues what was interrupted before.
  await rm(link, { force: true })
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** `0007-1a2b3c4d5e6f7081`. */
export function nameOf({ number, revision }: { readonly number: number; readonly revision: string }): string {
  return `${String(number).padStart(4, '0')}-${revision}`
}

/** The name of the version that a link leads to. */
export function versionIn(target: string): string | undefined {
  return target.split('/').find((part) => numberOf(part) !== undefined)
}

/** Undefined if the text isn't the name of a version. */
export function numberOf(name: string): number | undefined {
  const digits = /^(?<digits>\d{4,})-[0-9a-f]{16}$/.exec(name)?.groups?.digits
  return digits === undefined ? undefined : Number(digits)
}
