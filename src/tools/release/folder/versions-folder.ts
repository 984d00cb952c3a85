/**
 * Finds the folder for the versions of a policy directory: inside the directory, or under DATA_DIR if the directory is
 * part of a git work tree.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, readlink, realpath, rm } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { finish, replaceLink } from '../../../base/files/durable-file.ts'
import { makeFolder } from '../../../base/files/make-folder.ts'
import { type Home, linkedHome, linkTo, plainHome, versionIn } from './layout.ts'
import { obstacle } from './lock.ts'

/** File systems allow 255 bytes, some fewer. */
const LONGEST_NAME = 140

/** `data` is DATA_DIR. */
export async function homeOf(directory: string, data: string): Promise<Home> {
  const real = await withoutLinks(resolve(directory))
  const linked = linkedHome(directory)
  if (!isInWorkTree(real)) return linked
  // The name is the relative path between the two, so that both can move together.
  const name = folderName(relative(await withoutLinks(resolve(data)), real))
  const plain = plainHome(directory, join(data, 'policy-versions', name))
  const hasFormer = !existsSync(plain.versions) && existsSync(linked.versions)
  return hasFormer ? { ...linked, plainVersions: plain.plainVersions } : plain
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

/** Creates the folder of the versions. Versions that are still inside a directory of plain files are moved to it. */
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

/** The versions inside a directory that now holds plain files. */
export async function removeFormer(directory: string): Promise<void> {
  const { current, versions } = linkedHome(directory)
  for (const path of [current, versions]) await rm(path, { recursive: true, force: true })
}

function isInWorkTree(real: string): boolean {
  if (existsSync(join(real, '.git'))) return true
  const parent = dirname(real)
  return parent !== real && isInWorkTree(parent)
}
