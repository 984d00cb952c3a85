/** A database that can't be opened. */
import type { StoreUnavailable } from '../../store/errors.ts'
import { type Database, mendOfDatabase, settingsOf } from '../../store/open.ts'
import { ConfigError } from '../values.ts'

export async function databaseFault(database: Database, error: StoreUnavailable): Promise<ConfigError> {
  return new ConfigError(
    `the database ${database.name} can't be opened (${error.why}); check ${settingsOf(database)}`,
    await mendOfDatabase(database, error),
  )
}
