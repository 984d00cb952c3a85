/** Makes the data folder, and whatever is missing above it. */
import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/**
 * For its owner alone; one that is there stays as it is. Throws what mkdir throws, for a file of this name too. Node's
 * own recursive mkdir never ends where the system says ENOENT below a folder that is there, as it does in /proc.
 */
export async function makeFolder(folder: string): Promise<void> {
  const parent = dirname(resolve(folder))
  if (!existsSync(parent)) await makeFolder(parent)
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST'
    if (!isThere || !(await stat(folder)).isDirectory()) throw error
  }
}
