/** The command that lets this process use a path of the file system. */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { shellWord } from '../problems/fix.ts'

/** `code`: of the system's error; `elsewhere`: the command for another place. Undefined if no command fixes it. */
export function fixOfPath(path: string, code: string | undefined, elsewhere?: string): string | undefined {
  if (code === 'EACCES' || code === 'EPERM') return fixOfRights(path)
  if (code === 'EEXIST' || code === 'ENOTDIR') return fixOfNoFolder(path)
  if (code === 'ENOSPC' || code === 'EDQUOT') return `df -h ${shellWord(nearest(path))}`
  return elsewhere
}

/**
 * Whether it names a file, also one that this user may not see (`code`: of the system's error). Otherwise somebody may
 * have given the text of a key in place of its file, and no message repeats it.
 */
export function namesFile(text: string, code?: string): boolean {
  return code === 'EACCES' || existsSync(text)
}

/** The rights belong to the first folder on the way that doesn't let this user in, or else to the path itself. */
function fixOfRights(path: string): string | undefined {
  const closed = waysTo(path).find((folder) => existsSync(folder) && !permits(folder, constants.X_OK))
  const found = closed ?? path
  if (!existsSync(found))
    return `sudo install -d -m 700 -o ${process.getuid?.()} -g ${process.getgid?.()} ${shellWord(found)}`
  const { uid } = statSync(found)
  if (uid === process.getuid?.()) return `chmod -R u+rwX ${shellWord(found)}`
  return `sudo chown -R ${owner()} ${shellWord(found)}`
}

function fixOfNoFolder(path: string): string | undefined {
  const file = [...waysTo(path), path].find((one) => existsSync(one) && !statSync(one).isDirectory())
  return file && `mv ${shellWord(file)} ${shellWord(`${file}.before`)}`
}

/** The folders above a path, as the path names them, from the top. */
function waysTo(path: string): readonly string[] {
  const parent = dirname(path)
  return parent === path || parent === '.' ? [] : [...waysTo(parent), parent]
}

function nearest(path: string): string {
  return existsSync(path) ? path : nearest(dirname(resolve(path)))
}

function permits(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

/** By numbers, which a container and its host share. */
function owner(): string {
  return `${process.getuid?.()}:${process.getgid?.()}`
}
