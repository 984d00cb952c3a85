/** `--database`: another database than the one of the environment. */
import { type Database, readDatabaseUrl } from '../../store/open.ts'
import { ToolError } from '../../tools/load-policy.ts'

export const DATABASE = ['--database <url>', 'the database (DATABASE_URL, else the file in DATA_DIR)'] as const

/** Throws ToolError. */
export function databaseNamed(flag: string | undefined, usual: Database): Database {
  if (flag === undefined) return usual
  const read = readDatabaseUrl(flag)
  if ('fault' in read) throw new ToolError(`--database ${read.fault}`)
  return read
}
