/**
 * Where the files of a policy directory really are. `policy apply` makes each of them a link into `.current`, itself a link
 * to the version in force, so that one rename exchanges them all; a plain directory has its files in itself.
 */
import { readlink, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** The link to the version in force. */
export const CURRENT = '.current'

export interface Place {
  /** As it was asked for. */
  readonly directory: string
  /** The directory without links in its path, and which directory it is: another one may take over the path. */
  readonly real: string
  readonly identity: string
  /** Where `.current` leads to; undefined in a plain directory. */
  readonly current: string | undefined
}

/** Never rejects: what is missing is told as such. */
export async function placeOf(directory: string): Promise<Place> {
  const real = await realpath(directory).catch(() => directory)
  const [identity, current] = await Promise.all([
    identityOf(real),
    realpath(join(real, CURRENT)).catch(() => undefined),
  ])
  return { directory, real, identity, current }
}

export function isSamePlace(a: Place, b: Place): boolean {
  return a.real === b.real && a.identity === b.identity && a.current === b.current
}

/** The path to read a file by, and whether that is inside of the version in force. */
export async function sourceOf(
  { real, current }: Place,
  file: string,
): Promise<{ readonly path: string; readonly versioned: boolean }> {
  const path = join(real, file)
  if (current === undefined) return { path, versioned: false }
  const target = await readlink(path).catch(() => undefined)
  return target === linkTo(file) ? { path: join(current, file), versioned: true } : { path, versioned: false }
}

/** What the link of a versioned file says. */
export function linkTo(file: string): string {
  return `${CURRENT}/${file}`
}

async function identityOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  return found ? `${found.dev} ${found.ino}` : 'missing'
}
