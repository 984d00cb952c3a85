/** Which layout a database in a file has, beside its server or without one. */
import { open, stat } from 'node:fs/promises'
import { openReadOnly } from '../database.ts'

/** https://sqlite.org/fileformat.html#the_database_header */
const USER_VERSION_AT = 60
const MAGIC = 'SQLite format 3\0'

/**
 * Of a database in a file; undefined for a missing one. Makes no file: the database is opened only beside a server,
 * whose last writes stand in the log. Throws an error that says why it can't tell.
 */
export async function layoutOfFile(path: string): Promise<number | undefined> {
  if ((await sizeOf(`${path}-wal`)) > 0) return layoutWithLog(path)
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  if (!file) return undefined
  try {
    const { buffer } = await file.read(Buffer.alloc(USER_VERSION_AT + 4), { position: 0 })
    return buffer.toString('latin1').startsWith(MAGIC) ? buffer.readUInt32BE(USER_VERSION_AT) : undefined
  } finally {
    await file.close()
  }
}

/** Without the index of the log, which a server makes, to open the database would make one. */
async function layoutWithLog(path: string): Promise<number> {
  if ((await sizeOf(`${path}-shm`)) === 0) throw new Error('its last writes are in a log that no server has open')
  const database = openReadOnly(path, { immutable: false })
  try {
    return Number(database.prepare('pragma user_version').get()?.user_version)
  } finally {
    database.close()
  }
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0
}
