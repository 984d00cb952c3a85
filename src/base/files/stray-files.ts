/**
 * Finds files that stand in a folder of rules although nothing reads them: a name with a typing error would make a
 * server ignore rules that somebody relies on.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Names that nobody means as a rule: hidden files (also what this program and Kubernetes keep there), texts for
 * people, and what editors write beside a file: `policy.csv~`, `#policy.csv#`, `4913`, `policy.csv___jb_tmp___`.
 */
const APART = /^\.|^readme(?:\.|$)|~$|^#.*#$|^\d+$|___jb_(?:tmp|old)___$/i

/** The names, sorted. Folders are left alone. Empty for a folder that can't be read: whoever reads its files says so. */
export async function strayFiles(folder: string, isRead: (name: string) => boolean): Promise<readonly string[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => !APART.test(name) && !isRead(name))
  const found = await Promise.all(names.map((name) => isFolder(join(folder, name))))
  return names.filter((_, at) => !found[at]).sort()
}

/** A link that leads nowhere is a file. */
async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}
