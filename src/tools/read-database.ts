/** Opens a database for a tool, beside a server that may run. */
import { whileOpen } from '../store/errors.ts'
import type { ObjectReader } from '../store/object-reader.ts'
import { type Database, openReader } from '../store/open.ts'
import { ToolError } from './load-policy.ts'

/** Throws ToolError if the database can't be read, and what the work throws. */
export function withReader<T>(database: Database, work: (reader: ObjectReader) => Promise<T>): Promise<T> {
  return whileOpen(
    () => openReader(database),
    work,
    ({ cause }) => new ToolError(`the database \`${database.name}\` can't be read: ${(cause as Error).message}`),
  )
}
