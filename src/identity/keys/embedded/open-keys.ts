/** Opens the place of the embedded keys: the database if there is a KEYS_SECRET, otherwise the data folder. */
import { AGAIN } from '../../../base/problems/fix.ts'
import { StoreUnavailable, whileOpen } from '../../../store/errors.ts'
import {
  type Database,
  databaseExists,
  fixOfDatabase,
  isShared,
  openSigningKeys,
  settingsOf,
} from '../../../store/open.ts'
import { KeyError } from '../key-error.ts'
import { findKeyFolder, openKeyFolder } from './key-folder.ts'
import type { KeyPlace } from './key-place.ts'
import type { KeysInDatabase } from './keys-in-database.ts'
import { KeysInFolder } from './keys-in-folder.ts'
import type { KeysSecrets } from './keys-secret.ts'

export interface KeyPlaceSettings {
  readonly dataDirectory: string
  readonly database: Database
  /** Undefined for keys in the data folder. */
  readonly secrets: KeysSecrets | undefined
}

/** For a server, or a command that may make the first key. Throws KeyError. */
export async function openKeyPlace(settings: KeyPlaceSettings): Promise<KeyPlace> {
  if (settings.secrets) return openKeysInDatabase(settings.database, settings.secrets)
  return new KeysInFolder(await openKeyFolder(settings.dataDirectory))
}

/**
 * For commands beside a server, which make no first key: with a wrong data folder or database they would only seem to
 * work. Throws KeyError.
 */
export async function findKeyPlace(settings: KeyPlaceSettings): Promise<KeyPlace> {
  if (settings.secrets) return openKeysInDatabase(settings.database, settings.secrets)
  return new KeysInFolder(await findKeyFolder(settings.dataDirectory))
}

async function openKeysInDatabase(database: Database, secrets: KeysSecrets): Promise<KeysInDatabase> {
  if (!isShared(database)) {
    throw new KeyError(
      `KEYS_SECRET puts the signing keys in the database, but no other process can read ${database.name}; ` +
        'unset KEYS_SECRET, or set DATABASE_URL to another database',
      `env -u KEYS_SECRET ${AGAIN}`,
    )
  }
  if (!databaseExists(database)) {
    throw new KeyError(
      `there is no database \`${database.name}\`; start the server once, or set DATABASE_URL to its database`,
      'sallyport serve',
    )
  }
  // A server with keys in a folder doesn't load these modules.
  const [{ KeysInDatabase }, { createKeySeal }] = await Promise.all([
    import('./keys-in-database.ts'),
    import('./key-seal.ts'),
  ])
  const keys = await openSigningKeys(database).catch(async (error) => {
    throw error instanceof StoreUnavailable ? await unusable(database, error) : error
  })
  return new KeysInDatabase(keys, createKeySeal(secrets), database.name)
}

async function unusable(database: Database, error: StoreUnavailable): Promise<KeyError> {
  const sentence = `the database ${database.name} can't be used (${error.why}); check ${settingsOf(database)}`
  return new KeyError(sentence, await fixOfDatabase(database, error))
}

/** Encrypts the keys in the database under the current secret; returns how many weren't. Throws KeyError. */
export function encryptAgain({ database, secrets }: KeyPlaceSettings): Promise<number> {
  if (!secrets) throw new KeyError('the signing keys are files of the data folder; set KEYS_SECRET to use the database')
  return withKeyPlace(
    () => openKeysInDatabase(database, secrets),
    (place) => place.encryptAgain(),
  )
}

/** Does a command's work and then closes the place. Throws KeyError also if the database doesn't answer. */
export function withKeyPlace<P extends KeyPlace, T>(
  open: () => Promise<P>,
  work: (place: P) => Promise<T>,
): Promise<T> {
  return whileOpen(
    open,
    work,
    ({ why }) => new KeyError(`the database can't be used (${why}); try again when it answers`),
  )
}
