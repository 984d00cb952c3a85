/**
 * The files of a project that somebody else may have written, such as a pull request. What is read is a regular file of a
 * bounded size, and inside a git work tree no link that leads out of it: it may be printed where others read it. Nothing
 * is written through a link that leads out of the project.
 */
import { constants } from 'node:fs'
import { lstat, open, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { systemReason } from './system-reason.ts'

/** More than a hundred times the largest files that the tests and the bench read. */
export const MOST_BYTES = 64 * 1024 * 1024

/**
 * `folder`: the folder that the file belongs to, which may itself be a link. Throws Error, and the system's errors with
 * the reason in words for a message.
 */
export async function readProjectFile(path: string, folder: string): Promise<Buffer> {
  return read(path, folder).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall !== undefined) error.message = systemReason(error.code)
    throw error
  })
}

async function read(path: string, folder: string): Promise<Buffer> {
  const [real, top] = await Promise.all([realpath(path), workTreeAbove(resolve(folder))])
  if (top !== undefined && !isWithin(real, top)) throw new Error('it leads out of the git work tree')
  // Opening a pipe would wait for a writer.
  await using file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK)
  const stats = await file.stat()
  if (!stats.isFile()) throw new Error('it is not a regular file')
  // Some file systems tell no size; a stream takes four times as long.
  const isKnown = stats.size > 0 && stats.size <= MOST_BYTES
  const bytes = await (isKnown ? file.readFile() : buffer(file.createReadStream({ autoClose: false, end: MOST_BYTES })))
  if (bytes.length > MOST_BYTES) throw new Error(`it is larger than ${MOST_BYTES} bytes`)
  return bytes
}

const looking = new Map<string, Promise<string | undefined>>()

/** One look for all files of a folder that are read at the same time. */
function workTreeAbove(folder: string): Promise<string | undefined> {
  const begun = looking.get(folder)
  if (begun) return begun
  const found = realpath(folder)
    .then(workTreeOf)
    .finally(() => looking.delete(folder))
  looking.set(folder, found)
  return found
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

// ---- Where a command writes.

/**
 * Where the path leads, so that a link to a file stays a link. Throws LinkOut for a link on the way that leads nowhere,
 * into `.git`, or out of the git work tree in which it stands, or else out of the current folder. One in `folder` has
 * to stay in it.
 */
export async function writingPlace(path: string, folder?: string): Promise<string> {
  const named = resolve(path)
  if (dirname(named) === named) return named
  const above = await writingPlace(dirname(named), folder)
  const place = join(above, basename(named))
  if (!(await lstat(place).catch(() => undefined))?.isSymbolicLink()) return place
  const target = await realpath(place).catch(() => undefined)
  if (target === undefined) throw new LinkOut(place, 'nowhere')
  const project = await projectOf(above, folder)
  if (project !== undefined && leadsOut(target, project)) throw new LinkOut(place, 'out of the project')
  return target
}

async function projectOf(place: string, folder: string | undefined): Promise<string | undefined> {
  const named = folder && (await realpath(folder).catch(() => undefined))
  if (named && isWithin(place, named)) return named
  return (await workTreeOf(place)) ?? (isWithin(place, process.cwd()) ? process.cwd() : undefined)
}

function leadsOut(target: string, project: string): boolean {
  return !isWithin(target, project) || isWithin(target, join(project, '.git'))
}

class LinkOut extends Error {
  override readonly name = 'LinkOut'

  constructor(link: string, where: string) {
    super(`\`${link}\` is a link that leads ${where}, and nothing was changed: remove it, or name the place itself`)
  }
}
