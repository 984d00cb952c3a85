/** Creates the data folder, and all missing folders above it. */
import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/**
 * Creates a folder that only its owner can use; an existing one stays as it is. Throws the errors of mkdir, also if a
 * file has this name. Node's own recursive mkdir never ends if the system reports ENOENT below an existing folder, as
 * in /proc.
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
