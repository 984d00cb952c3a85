/** Opens the target of `policy apply` and its relatives: the policy directory, or the versions in the database. */
import { ConfigError } from '../../config/values.ts'
import { DATABASE_POLICIES, ofDatabase } from '../../identity/keys/published-settings.ts'
import type { VersionKeys } from '../../policy/published/signed-version.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import type { PolicyVersions } from '../../store/policy-versions.ts'
import type { ReleaseTarget } from '../../tools/release/target.ts'
import type { PolicySettings } from '../options.ts'

/** The database, and the keys of its versions. */
export type VersionSettings = Pick<ReturnType<PolicySettings>, 'dataDirectory' | 'database' | 'published'>

interface TargetSettings extends VersionSettings {
  /** A directory, or `database:`. */
  readonly policies: string
  /** See DatabaseTargetOptions. */
  readonly over?: number | 'any' | undefined
}

export async function inReleaseTarget<T>(
  settings: TargetSettings,
  work: (target: ReleaseTarget) => Promise<T>,
): Promise<T> {
  return explained(settings, async () => {
    const target = await openTarget(settings)
    try {
      return await work(target)
    } finally {
      await target.close()
    }
  })
}

/** Says which database can't be used. */
export async function explained<T>({ database }: Pick<TargetSettings, 'database'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    const { settingsOf } = await import('../../store/open.ts')
    throw new ConfigError(`the database ${database.name} can't be used (${error.why}); check ${settingsOf(database)}`)
  }
}

/** For commands that only read versions: with the keys that are trusted. */
export async function inVersions<T>(
  settings: VersionSettings,
  work: (versions: PolicyVersions, keys: VersionKeys) => Promise<T>,
): Promise<T> {
  return explained(settings, async () => {
    const keys = await trustedKeys(settings)
    const versions = await openVersions(settings)
    try {
      return await work(versions, keys)
    } finally {
      await versions.close()
    }
  })
}

async function openTarget(settings: TargetSettings): Promise<ReleaseTarget> {
  const { policies, dataDirectory, published, over } = settings
  if (policies !== DATABASE_POLICIES) {
    const { folderTarget } = await import('../../tools/release/folder/folder-target.ts')
    const { homeOf } = await import('../../tools/release/folder/versions-folder.ts')
    return folderTarget(await homeOf(policies, dataDirectory))
  }
  const { openDatabaseTarget } = await import('../../tools/release/database-target.ts')
  const { readPolicySigner } = await import('../../identity/keys/policy-keys.ts')
  const signer = published.signingKey === undefined ? undefined : await readPolicySigner(published.signingKey)
  const keys = await trustedKeys(settings)
  const versions = signer && over !== 'any' ? await makeVersions(settings) : await openVersions(settings)
  return openDatabaseTarget({ versions, signer, keys, over })
}

/** The keys of POLICY_PUBLIC_KEYS, and the publisher's own. Throws ConfigError without any. */
async function trustedKeys({ published }: Pick<TargetSettings, 'published'>): Promise<VersionKeys> {
  const { publicHalf, readPolicyKeys, readPolicySigner } = await import('../../identity/keys/policy-keys.ts')
  const { publicKeys, signingKey } = published
  const own = signingKey === undefined ? [] : await publicHalf(await readPolicySigner(signingKey))
  const others = publicKeys === undefined ? [] : await readPolicyKeys(publicKeys)
  const keys = new Map([...own, ...others])
  if (keys.size > 0) return keys
  throw new ConfigError('POLICY_PUBLIC_KEYS is not set; set it to files with the public keys of published policies')
}

/** Throws ConfigError for a database that isn't there or keeps no policies, and StoreUnavailable. */
export async function openVersions({
  database,
  published,
}: Pick<TargetSettings, 'database' | 'published'>): Promise<PolicyVersions> {
  const { databaseExists, openPolicyVersions } = await import('../../store/open.ts')
  if (!databaseExists(database)) {
    throw new ConfigError(`there is no database ${database.name}; set DATA_DIR or DATABASE_URL to that of the server`)
  }
  const versions = await openPolicyVersions(database)
  if (versions) return ofDatabase(versions, published)
  throw new ConfigError(`the database ${database.name} keeps no policies; set DATABASE_URL to another one`)
}

/** The first version may be published before a server has made its database. */
async function makeVersions(settings: TargetSettings): Promise<PolicyVersions> {
  const { databaseExists, openPolicyVersions } = await import('../../store/open.ts')
  if (databaseExists(settings.database)) return openVersions(settings)
  const { makeFolder } = await import('../../base/files/make-folder.ts')
  await makeFolder(settings.dataDirectory)
  await (await openPolicyVersions(settings.database))?.close()
  return openVersions(settings)
}
