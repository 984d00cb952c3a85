/** Why a database can't be used by this program as it is. */
import { UnfitDatabase } from '../errors.ts'

export function laterLayout(found: number, supported: number): UnfitDatabase {
  return new UnfitDatabase(
    `the database has layout ${found}, but this version supports only ${supported}: use a later version`,
  )
}

/** For a command, which changes no table, because a server may be running. */
export function notMigrated(): UnfitDatabase {
  return new UnfitDatabase(
    'no server of this version has opened the database with these schemas: start the server once',
  )
}
