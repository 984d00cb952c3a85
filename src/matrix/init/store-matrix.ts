/** Puts written matrices into a folder; what is there already stays unless it may be replaced. */
import { access, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ReviewError } from '../../review/load-policy.ts'
import type { MatrixText } from './write-matrix.ts'

/** The paths written. Throws ReviewError, and writes nothing, where a file is there already. */
export async function storeNew(folder: string, files: readonly MatrixText[]): Promise<readonly string[]> {
  const there = await Promise.all(files.map(({ name }) => exists(join(folder, name))))
  const taken = files.filter((_, i) => there[i]).map(({ name }) => `\`${join(folder, name)}\``)
  if (taken.length > 0) {
    throw new ReviewError(
      `${taken.join(', ')} would be overwritten; write to another folder with --out, or say --force to replace what is there`,
    )
  }
  return storeOver(folder, files)
}

/** The same, replacing what is there. */
export async function storeOver(folder: string, files: readonly MatrixText[]): Promise<readonly string[]> {
  await Promise.all(files.map(({ name }) => mkdir(dirname(join(folder, name)), { recursive: true })))
  await Promise.all(files.map(({ name, text }) => writeFile(join(folder, name), text)))
  return files.map(({ name }) => join(folder, name))
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
