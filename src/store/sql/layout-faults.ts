/** Why a database can't be used by this program as it is. */
import { withMend } from '../../base/problems/mend.ts'
import { UnfitDatabase } from '../errors.ts'

export function laterLayout(found: number, supported: number): UnfitDatabase {
  const fault = `the database has layout ${found}, but this version supports only ${supported}: use a later version`
  return withMend(new UnfitDatabase(fault), 'npm install sallyport@latest')
}

/** For a command, which changes no table, because a server may be running. */
export function notMigrated(): UnfitDatabase {
  const fault = 'no server of this version has opened the database with these schemas: start the server once'
  return withMend(new UnfitDatabase(fault), 'sallyport serve')
}
