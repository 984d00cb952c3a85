/**
 * Reads a file that somebody else may have written, such as a pull request: only a regular file of a bounded size, and
 * inside a git work tree no link that leads out of it. What such a file has may be printed where others read it.
 */
import { constants, type Stats } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'

/** More than a hundred times the largest files that the tests and the bench read. */
export const MOST_BYTES = 64 * 1024 * 1024

/** `folder`: the folder that the file belongs to, which may itself be a link. Throws the system's errors, and Error. */
export async function readProjectFile(path: string, folder: string): Promise<Buffer> {
  const real = await inside(await realpath(path).catch(asOpening), folder)
  // Opening a pipe would wait for a writer.
  await using file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK)
  const found = await file.stat()
  refuseOthers(found)
  const chunks: Buffer[] = []
  // Files of /proc report the size 0, and others may grow meanwhile.
  for (let length = 0; ; ) {
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(Math.max(found.size + 1, LEAST_CHUNK)) })
    if (bytesRead === 0) return Buffer.concat(chunks, length)
    length += bytesRead
    if (length > MOST_BYTES) throw new Error(TOO_LARGE)
    chunks.push(buffer.subarray(0, bytesRead))
  }
}

/** `real`: a path without links. */
async function inside(real: string, folder: string, named = 'it'): Promise<string> {
  const top = await workTreeOf(await realpath(folder))
  if (top === undefined || isWithin(real, top)) return real
  throw new Error(`${named} leads out of the git work tree`)
}

/** Where a file of the folder is to be written, so that a link stays a link. Throws Error for a link that leads out. */
export async function writingPlace(path: string, folder: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined)
  return real === undefined ? path : inside(real, folder, `\`${path}\``)
}

/** The message says that the file can't be opened, without the names of system calls. */
function asOpening(error: NodeJS.ErrnoException): never {
  error.message = error.message.replace(', realpath ', ', open ')
  throw error
}

const LEAST_CHUNK = 64 * 1024
const TOO_LARGE = `it is larger than ${MOST_BYTES} bytes`

function refuseOthers(found: Stats): void {
  if (!found.isFile()) throw new Error('it is not a regular file')
  if (found.size > MOST_BYTES) throw new Error(TOO_LARGE)
}

/** The nearest folder with a `.git` at or above this one, which has no links in its path. */
export async function workTreeOf(folder: string): Promise<string | undefined> {
  for (let one = folder; ; one = dirname(one)) {
    if (await stat(join(one, '.git')).catch(() => undefined)) return one
    if (dirname(one) === one) return undefined
  }
}

/** Both without links in their paths. */
export function isWithin(path: string, folder: string): boolean {
  const between = relative(folder, path)
  return between !== '..' && !between.startsWith(`..${sep}`)
}
