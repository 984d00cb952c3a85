/** Opens a database for a tool, beside a server that may run. */
import { StoreUnavailable } from '../store/errors.ts'
import type { ObjectReader } from '../store/object-reader.ts'
import { type Database, openReader } from '../store/open.ts'
import { ToolError } from './load-policy.ts'

/** Throws ToolError if the database can't be read, and what the work throws. */
export async function withReader<T>(database: Database, work: (reader: ObjectReader) => Promise<T>): Promise<T> {
  try {
    const reader = await openReader(database)
    try {
      return await work(reader)
    } finally {
      await reader.close()
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw new ToolError(`the database \`${database.name}\` can't be read: ${(error.cause as Error).message}`)
  }
}
