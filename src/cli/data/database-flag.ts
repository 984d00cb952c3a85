/** `--database`: another database than the one of the environment. */
import { type Database, readDatabaseUrl } from '../../store/open.ts'
import { ToolError } from '../../tools/load-policy.ts'

export const DATABASE = ['--database <url>', 'the database (DATABASE_URL, else the file in DATA_DIR)'] as const

/** Every user of the machine can read the arguments of a process. Throws ToolError. */
export function refusePassword(flag: string | undefined): void {
  const url = URL.parse(flag ?? '')
  if (!url || (url.password === '' && !url.searchParams.has('password'))) return
  throw new ToolError('--database has a password, which others can read in the list of processes: set DATABASE_URL')
}

/** Throws ToolError. */
export function databaseNamed(flag: string | undefined, usual: Database): Database {
  if (flag === undefined) return usual
  refusePassword(flag)
  const read = readDatabaseUrl(flag)
  if ('fault' in read) throw new ToolError(`--database ${read.fault}`)
  return read
}
