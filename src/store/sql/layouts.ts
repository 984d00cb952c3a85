/**
 * The layout of the store that each version writes: the one list. A version that changes a layout adds its entry at the
 * end. A store is opened by a version of the same layout or a later one; test/stability/layouts.test.ts holds the last
 * entry to the engines.
 */
import { open } from 'node:fs/promises'

interface VersionLayouts {
  /** The first version with these layouts. */
  readonly version: string
  /** By the name of the engine; an engine that the version didn't have is absent. */
  readonly layouts: Readonly<Record<string, number>>
}

/** The last entry is that of this program. */
export const LAYOUTS: readonly VersionLayouts[] = [
  { version: '0.1.0', layouts: { sqlite: 2 } },
  { version: '0.2.0', layouts: { sqlite: 3, postgres: 2 } },
]

/** https://sqlite.org/fileformat.html#the_database_header */
const USER_VERSION_AT = 60
const MAGIC = 'SQLite format 3\0'

/** Of a database in a file; undefined for anything else. Only reads: to open a database may write files beside it. */
export async function layoutOfFile(path: string): Promise<number | undefined> {
  const file = await open(path, 'r').catch(() => undefined)
  if (!file) return undefined
  try {
    const { buffer } = await file.read(Buffer.alloc(USER_VERSION_AT + 4), { position: 0 })
    return buffer.toString('latin1').startsWith(MAGIC) ? buffer.readUInt32BE(USER_VERSION_AT) : undefined
  } finally {
    await file.close()
  }
}
