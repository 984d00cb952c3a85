/** The processes that hold a lock on a database file, as Linux tells it (proc_locks(5)). */
import { readFileSync, statSync } from 'node:fs'

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
