/** Where the last server on a database had its signing keys: servers refuse tokens of keys that are elsewhere. */
import { againWith } from '../../../base/problems/fix.ts'
import type { Seeding } from '../../../store/contract.ts'
import { StoreUnavailable, UnfitDatabase } from '../../../store/errors.ts'
import { type Database, databaseExists, isShared, openDatabaseBeside } from '../../../store/open.ts'
import { KeyError } from '../key-error.ts'
import type { KeyPlaceSettings } from './open-keys.ts'

type PlaceInUse = 'database' | 'folder'

const MARK = 'place of signing keys'

/** The place of the server before this one, if that was another. A mark makes sure that each change is reported once. */
export async function notePlaceInUse(
  { secrets }: Pick<KeyPlaceSettings, 'secrets'>,
  seeding: Pick<Seeding, 'readMark' | 'writeMark'>,
): Promise<PlaceInUse | undefined> {
  const last = await seeding.readMark(MARK)
  const place = secrets ? 'database' : 'folder'
  if (last === place || (last === undefined && !secrets)) return undefined
  await seeding.writeMark(MARK, place)
  return last as PlaceInUse | undefined
}

/** For commands. Throws KeyError if the keys of the servers are in the database, and there is no KEYS_SECRET. */
export async function refuseUnusedFolder({ database, secrets }: KeyPlaceSettings): Promise<void> {
  if (secrets || (await lastPlace(database)) !== 'database') return
  throw new KeyError(
    `KEYS_SECRET is not set, but the last server on the database ${database.name} had it, and servers with it refuse ` +
      'tokens of other keys; set it to the value of the servers, or start a server without it first',
    againWith('KEYS_SECRET', "'<the value of the servers>'"),
  )
}

/** Undefined also if the database can't tell: a command that needs no database works without it. */
async function lastPlace(database: Database): Promise<string | undefined> {
  if (!isShared(database) || !databaseExists(database)) return undefined
  try {
    const resources = { byName: new Map(), routes: [] }
    const { store, seeding } = await openDatabaseBeside(database, { resources, now: () => new Date() })
    return await seeding.readMark(MARK).finally(() => store.close())
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof UnfitDatabase) return undefined
    throw error
  }
}
