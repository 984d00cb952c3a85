/** What the environment sets for a command, where no flag of it says otherwise. */
import { environment } from '../base/command-process.ts'
import { readConfig } from '../config/config.ts'
import { type Database, readDatabaseUrl } from '../store/open.ts'
import { timeOf } from '../tools/asked/at-option.ts'
import { ToolError } from '../tools/load-policy.ts'
import { policyPlace } from './policy/policy-place.ts'

export interface GivenFlags {
  readonly at?: string
  readonly database?: string
}

/** Throws ConfigError and ToolError. */
export function mergeFlags<F extends object>(flags: F & GivenFlags, instance = environment().INSTANCE) {
  const usual = readConfig({ ...environment(), INSTANCE: instance })
  const settings = { ...usual, ...flags, database: databaseNamed(flags.database, usual.database) }
  const placeOf = (named: string) => policyPlace(named, settings)
  return { ...settings, placeOf, place: placeOf(settings.policies), now: timeOf(flags.at, Date.now()) }
}

/** Every user of the machine can read the arguments of a process. Throws ToolError. */
function refusePassword({ hasPassword }: Database): void {
  if (!hasPassword) return
  throw new ToolError('--database has a password, which others can read in the list of processes: set DATABASE_URL')
}

function databaseNamed(flag: string | undefined, usual: Database): Database {
  if (flag === undefined) return usual
  const read = readDatabaseUrl(flag)
  if ('fault' in read) throw new ToolError(`--database ${read.fault}`)
  refusePassword(read)
  return read
}
