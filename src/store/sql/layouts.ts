/**
 * The layout of the store that each version writes: the one list. A version that changes a layout adds its entry at the
 * end. A store is opened by a version of the same layout or a later one; test/stability/layouts.test.ts holds the last
 * entry to the engines.
 */
import { withMend } from '../../base/problems/mend.ts'
import { UnfitDatabase } from '../errors.ts'

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

export function laterLayout(found: number, supported: number): UnfitDatabase {
  const fault = `the database has layout ${found}, but this version supports only ${supported}: use a later version`
  return withMend(new UnfitDatabase(fault), 'npm install sallyport@latest')
}

/** For a command, which changes no table, because a server may be running. */
export function notMigrated(): UnfitDatabase {
  const fault = 'no server of this version has opened the database with these schemas: start the server once'
  return withMend(new UnfitDatabase(fault), 'sallyport serve')
}
