/** Creates a folder, and all missing folders above it. */
import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/**
 * Only its owner can use it, unless `mode` says otherwise; an existing folder stays as it is. Answers the first folder
 * that was missing. Throws the errors of mkdir, also if a file has this name. Node's own recursive mkdir never ends if
 * the system reports ENOENT below an existing folder, as in /proc.
 */
export async function makeFolder(folder: string, mode = 0o700): Promise<string | undefined> {
  const path = resolve(folder)
  const parent = dirname(path)
  const first = existsSync(parent) ? undefined : await makeFolder(parent, mode)
  try {
    await mkdir(path, { mode })
    return first ?? path
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST'
    if (!isThere || !(await stat(path)).isDirectory()) throw error
    return first
  }
}
