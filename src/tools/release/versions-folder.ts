/** Where the versions of a policy directory are: in it, or under DATA_DIR when it is part of a git work tree. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, readlink, realpath, rm } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { makeFolder } from '../../base/make-folder.ts'
import { finish, replaceLink } from './durable-file.ts'
import { type Home, linkedHome, linkTo, plainHome, versionIn } from './layout.ts'
import { obstacle } from './obstacle.ts'

/** File systems take 255 bytes, some fewer. */
const LONGEST_NAME = 140

/** `data` is DATA_DIR. */
export async function homeOf(directory: string, data: string): Promise<Home> {
  const real = await withoutLinks(resolve(directory))
  const linked = linkedHome(directory)
  if (!isInWorkTree(real)) return linked
  // By the way from one to the other, so that both can move together.
  const name = folderName(relative(await withoutLinks(resolve(data)), real))
  const plain = plainHome(directory, join(data, 'policy-versions', name))
  const hasFormer = !existsSync(plain.versions) && existsSync(linked.versions)
  return hasFormer ? { ...linked, plainVersions: plain.plainVersions } : plain
}

/** Of what isn't there yet too: the same as when it is. */
async function withoutLinks(path: string): Promise<string> {
  return realpath(path).catch(async () => {
    return path === dirname(path) ? path : join(await withoutLinks(dirname(path)), basename(path))
  })
}

/** A long one is told by its end and a digest. */
function folderName(way: string): string {
  const name = encodeURIComponent(way)
  if (name.length <= LONGEST_NAME) return name
  return `${name.slice(-100)}-${createHash('sha256').update(way).digest('hex').slice(0, 16)}`
}

/** Makes the folder of the versions. Those that are still in a directory of plain files move out of it. */
export async function settleHome(home: Home): Promise<Home> {
  const { directory, plainVersions } = home
  const settled = plainVersions === undefined ? home : plainHome(directory, plainVersions)
  await makeFolder(dirname(settled.versions)).catch((error) => {
    throw obstacle(dirname(settled.versions), error)
  })
  if (settled.versions === home.versions) {
    await makeFolder(home.versions)
    return home
  }
  const last = versionIn(await readlink(home.current).catch(() => ''))
  await finish(settled.versions, async (unfinished) => {
    await cp(home.versions, unfinished, { recursive: true })
    if (last !== undefined) await replaceLink(join(unfinished, '.current'), linkTo(settled, last))
  })
  return settled
}

/** What the links of a directory led to, once it holds plain files. */
export async function removeFormer(directory: string): Promise<void> {
  const { current, versions } = linkedHome(directory)
  for (const path of [current, versions]) await rm(path, { recursive: true, force: true })
}

function isInWorkTree(real: string): boolean {
  if (existsSync(join(real, '.git'))) return true
  const parent = dirname(real)
  return parent !== real && isInWorkTree(parent)
}
