/** The ids of the users that exist, from a text file (one a line) or from a Sallyport database, which is only read. */
import { open, readFile } from 'node:fs/promises'
import { USERS } from '../../decide/policy.ts'
import type { Resources } from '../../resources/resource.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import { ReviewError } from '../load-policy.ts'

/** https://sqlite.org/fileformat.html#the_database_header */
const SQLITE_HEADER = 'SQLite format 3\0'

/** Throws ReviewError. */
export async function readDirectory(file: string, resources: Resources): Promise<ReadonlySet<string>> {
  const bytes = await firstBytes(file)
  if (bytes.toString('latin1') === SQLITE_HEADER) return fromDatabase(file, resources)
  return fromText(file, await readFile(file))
}

async function firstBytes(file: string): Promise<Buffer> {
  try {
    const handle = await open(file)
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(SQLITE_HEADER.length))
      return buffer.subarray(0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw new ReviewError(`the directory \`${file}\` can't be read: ${(error as Error).message}`)
  }
}

async function fromDatabase(file: string, { byName }: Resources): Promise<ReadonlySet<string>> {
  const users = byName.get(USERS)
  if (!users)
    throw new ReviewError(`no schema declares \`${USERS}\`, so the database \`${file}\` can't tell who exists`)
  try {
    // Loaded here, because most checks look into no database.
    const { readIds } = await import('../../store/sqlite/ids.ts')
    return readIds(file, users)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw new ReviewError(`the database \`${file}\` can't be read: ${(error.cause as Error).message}`)
  }
}

function fromText(file: string, bytes: Buffer): ReadonlySet<string> {
  const lines = decode(file, bytes).split(/\r?\n/)
  const prefixed = lines.findIndex((line) => line.startsWith('user:'))
  if (prefixed >= 0) throw new ReviewError(`line ${prefixed + 1} of \`${file}\`: an id stands here without \`user:\``)
  return new Set(lines.filter((line) => line !== ''))
}

function decode(file: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new ReviewError(
      `the directory \`${file}\` is neither UTF-8 text, one id a line, nor a database of Sallyport's`,
    )
  }
}
