/** Gives a file that is complete its name, which no other file loses by this. */
import { link, lstat, rename } from 'node:fs/promises'

/** Some file systems have no links to files. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'])

/**
 * Throws EEXIST for a name that is taken, by another process a moment ago, too. A link never takes the place of another
 * file. The unfinished file may keep its own name as well: the caller removes it.
 */
export async function nameNew(unfinished: string, path: string): Promise<void> {
  try {
    await link(unfinished, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!NO_LINKS.has(code) || (await exists(path))) throw error
    await rename(unfinished, path)
  }
}

/** A link that leads nowhere exists, too. */
export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
