/** The command that mends a database file that can't be opened. */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { mendOfPath } from '../../../base/files/mend-path.ts'
import { shellWord } from '../../../base/problems/mend.ts'
import { lockHoldersOf } from './locks.ts'

/** https://sqlite.org/rescode.html: the lowest byte. */
const [BUSY, LOCKED, READONLY, CORRUPT, FULL, CANTOPEN, NOTADB] = [5, 6, 8, 11, 13, 14, 26]

/** The folder in which the archive of a damaged file is restored. */
const RESTORED = 'restored'

export function mendOfFile(file: string, cause: unknown): string | undefined {
  const { code, errcode, path } = cause as { readonly code?: string; readonly errcode?: number; readonly path?: string }
  if (errcode === undefined) return mendOfPath(code === 'ENOENT' ? dirname(file) : (path ?? file), code)
  const result = errcode & 0xff
  if (result === BUSY || result === LOCKED) return mendOfLock(file)
  if (result === FULL) return mendOfPath(file, 'ENOSPC')
  if (result === READONLY || result === CANTOPEN) return mendOfPath(dirname(file), 'EACCES')
  if (result === NOTADB || result === CORRUPT) return restoring(file)
  return undefined
}

function mendOfLock(file: string): string {
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
