/** The command that mends a database file that can't be opened. */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { mendOfPath } from '../../../base/files/mend-path.ts'
import { shellWord } from '../../../base/problems/mend.ts'
import { lockHoldersOf } from './locks.ts'

/** https://sqlite.org/rescode.html: the lowest byte. */
const [BUSY, LOCKED, READONLY, CORRUPT, FULL, CANTOPEN, NOTADB] = [5, 6, 8, 11, 13, 14, 26]

export function mendOfFile(file: string, cause: unknown): string | undefined {
  const { code, errcode, path } = cause as { readonly code?: string; readonly errcode?: number; readonly path?: string }
  if (errcode === undefined) return mendOfPath(code === 'ENOENT' ? dirname(file) : (path ?? file), code)
  const result = errcode & 0xff
  if (result === BUSY || result === LOCKED) return mendOfLock(file)
  if (result === FULL) return mendOfPath(file, 'ENOSPC')
  if (result === READONLY || result === CANTOPEN) return mendOfPath(dirname(file), 'EACCES')
  if (result === NOTADB || result === CORRUPT) return setAside(file)
  return undefined
}

function mendOfLock(file: string): string {
  const pids = lockHoldersOf(file)?.writing.filter((pid) => pid > 0) ?? []
  return pids.length > 0 ? `kill ${pids.join(' ')}` : `fuser -v ${shellWord(file)}`
}

/** With its side files: a write-ahead log belongs to its own file alone. */
export function setAside(file: string): string {
  const files = [file, `${file}-wal`, `${file}-shm`].filter((one) => existsSync(one))
  const aside = shellWord(`${file}.damaged`)
  return `mkdir ${aside} && mv ${[...files.map(shellWord), aside].join(' ')}`
}
