/** Where the versions of a policy directory are: in it, or under DATA_DIR when it is part of a git work tree. */
import { existsSync } from 'node:fs'
import { cp, readlink, realpath, rm } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { makeFolder } from '../store/make-folder.ts'
import { finish, replaceLink } from './durable.ts'
import { type Home, linkedHome, linkTo, plainHome, versionIn } from './layout.ts'
import { obstacle } from './obstacle.ts'

/** `data` is DATA_DIR. */
export async function homeOf(directory: string, data: string): Promise<Home> {
  const real = await realpath(directory).catch(() => resolve(directory))
  const linked = linkedHome(directory)
  if (!isInWorkTree(real)) return linked
  // By the way from one to the other, so that both can move together.
  const name = encodeURIComponent(relative(await realpath(data).catch(() => resolve(data)), real))
  const plain = plainHome(directory, join(data, 'policy-versions', name))
  const hasFormer = !existsSync(plain.versions) && existsSync(linked.versions)
  return hasFormer ? { ...linked, plainVersions: plain.plainVersions } : plain
}

/** Makes the folder of the versions. Those that are still in a directory of plain files move out of it. */
export async function settle(home: Home): Promise<Home> {
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
