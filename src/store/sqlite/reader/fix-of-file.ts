/** The command that fixes a database file that can't be opened. */

import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { fixOfPath } from '../../../base/files/fix-path.ts'
import { shellWord } from '../../../base/problems/fix.ts'

/** https://sqlite.org/rescode.html: the lowest byte. */
const [BUSY, LOCKED, READONLY, CORRUPT, FULL, CANTOPEN, NOTADB] = [5, 6, 8, 11, 13, 14, 26]

/** The folder in which the archive of a damaged file is restored. */
const RESTORED = 'restored'

export function fixOfFile(file: string, cause: unknown): string | undefined {
  const { code, errcode, path } = cause as { readonly code?: string; readonly errcode?: number; readonly path?: string }
  if (errcode === undefined) return fixOfPath(code === 'ENOENT' ? dirname(file) : (path ?? file), code)
  const result = errcode & 0xff
  if (result === BUSY || result === LOCKED) return fixOfLock(file)
  if (result === FULL) return fixOfPath(file, 'ENOSPC')
  if (result === READONLY || result === CANTOPEN) return fixOfPath(dirname(file), 'EACCES')
  if (result === NOTADB || result === CORRUPT) return restoring(file)
  return undefined
}

function fixOfLock(file: string): string {
  const pids = lockHoldersOf(file)?.writing.filter((pid) => pid > 0) ?? []
  return pids.length > 0 ? `kill ${pids.join(' ')}` : `fuser -v ${shellWord(file)}`
}

/**
 * The file goes only after an archive was restored: in an empty place, the next start would make an empty database. Its
 * side files go with it, because a write-ahead log belongs to its own file alone.
 */
export function restoring(file: string): string {
  const files = [file, `${file}-wal`, `${file}-shm`].filter((one) => existsSync(one))
  const aside = shellWord(`${file}.damaged`)
  const restore = `sallyport restore <archive> ${RESTORED} && mkdir ${aside}`
  return `${restore} && mv ${[...files.map(shellWord), aside].join(' ')} && mv ${RESTORED}/data/sallyport.db ${shellWord(file)}`
}

export interface LockHolders {
  /** They have the database open. */
  readonly all: readonly number[]
  /** They keep others from writing. */
  readonly writing: readonly number[]
}

/** `POSIX ADVISORY WRITE 1234 fe:01:5678 0 EOF`, after a number, and for one that waits after `->` */
const LINE = /^\d+: POSIX +\S+ +(?<kind>READ|WRITE) +(?<pid>\d+) +[0-9a-f]+:[0-9a-f]+:(?<inode>\d+) /gm

/** Undefined where the system doesn't tell. A process in another container has the number 0 or -1. */
export function lockHoldersOf(file: string): LockHolders | undefined {
  let locks: string
  try {
    locks = readFileSync('/proc/locks', 'utf8')
  } catch {
    return undefined
  }
  const inodes = [file, `${file}-shm`].map((name) => statSync(name, { throwIfNoEntry: false })?.ino)
  const held = [...locks.matchAll(LINE)].map(({ groups = {} }) => groups)
  const pidsOf = (inode: number | undefined, kinds: readonly string[]) =>
    held.filter((one) => Number(one.inode) === inode && kinds.includes(one.kind ?? '')).map(({ pid }) => Number(pid))
  const isOther = (pid: number) => pid !== process.pid
  const all = inodes.flatMap((inode) => pidsOf(inode, ['READ', 'WRITE'])).filter(isOther)
  const writing = inodes.flatMap((inode) => pidsOf(inode, ['WRITE'])).filter(isOther)
  return { all: [...new Set(all)], writing: [...new Set(writing)] }
}
