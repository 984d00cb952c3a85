/**
 * What an argument or a setting names as a policy, a directory or a version that is published in the database; and what
 * `policy apply` and its relatives write to.
 */
import { judgeHere } from '../../analysis/approvals/judge-here.ts'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/values.ts'
import { DATABASE_POLICIES, ofDatabase, versionNamed } from '../../identity/keys/published-settings.ts'
import type { VersionKeys } from '../../policy/published/signed-version.ts'
import { type StoreUnavailable, whileOpen } from '../../store/errors.ts'
import type { PolicyVersions } from '../../store/policy-versions.ts'
import type { PolicyPlace, PublishedPlace } from '../../tools/load-policy.ts'
import type { SignedVersions } from '../../tools/release/published-versions.ts'
import type { ReleaseTarget } from '../../tools/release/target.ts'

/** The database, and the keys of its versions. */
type VersionSettings = Pick<Config, 'dataDirectory' | 'database' | 'published' | 'schemas'>

/** Anything but `database:` with such a version stays a directory, or a git revision. */
export function policyPlace(named: string, settings: VersionSettings): PolicyPlace {
  const version = versionNamed(named)
  return version === undefined ? named : publishedPlace(version, settings)
}

function publishedPlace(version: string, settings: VersionSettings): PublishedPlace {
  return {
    name: `${DATABASE_POLICIES}${version}`,
    read: () =>
      inSignedVersions(settings, async (signed) => {
        const { readVersion } = await import('../../tools/release/published-versions.ts')
        const { readingOf } = await import('../../policy/published/version-chain.ts')
        const found = await readVersion(signed, version)
        return readingOf(found.version, found.texts)
      }),
    readRevision: (revision) =>
      inSignedVersions(settings, async (signed) => {
        const { publishedRevision } = await import('../../tools/release/policy-of-revision.ts')
        return publishedRevision(revision, signed)
      }),
    readPast: (wanted) =>
      inSignedVersions(settings, async (signed) => {
        const { publishedPast } = await import('../../tools/release/policy-of-revision.ts')
        return publishedPast(wanted, signed)
      }),
    roleGrants: (now) =>
      inSignedVersions(settings, async (signed) => {
        const { openGrants, roleGrantsAt } = await import('../../tools/approvals/grants.ts')
        const { loadResources } = await import('../../resources/load/load-resources.ts')
        return roleGrantsAt(await openGrants(signed, await loadResources(settings.schemas)), now)
      }),
  }
}

interface TargetSettings extends VersionSettings {
  /** A directory, or `database:`. */
  readonly policies: string
  /** See DatabaseTargetOptions. */
  readonly over?: number | 'any' | undefined
}

export function inReleaseTarget<T>(settings: TargetSettings, work: (target: ReleaseTarget) => Promise<T>): Promise<T> {
  return whileOpen(() => openTarget(settings), work, unusable(settings))
}

export function inVersions<T>(settings: VersionSettings, work: (versions: PolicyVersions) => Promise<T>): Promise<T> {
  return whileOpen(() => openVersions(settings), work, unusable(settings))
}

/** Says which database can't be used. */
function unusable({ database }: VersionSettings): (error: StoreUnavailable) => Promise<ConfigError> {
  return async ({ why }) => {
    const { settingsOf } = await import('../../store/open.ts')
    return new ConfigError(`the database ${database.name} can't be used (${why}); check ${settingsOf(database)}`)
  }
}

/** With the keys that are trusted. */
export async function inSignedVersions<T>(
  settings: VersionSettings,
  work: (signed: SignedVersions) => Promise<T>,
): Promise<T> {
  const verifier = await verifierOf(settings)
  return inVersions(settings, (versions) => work({ versions, ...verifier }))
}

/** What verifies versions, wherever they are read. Throws ConfigError. */
export async function verifierOf(settings: VersionSettings): Promise<Omit<SignedVersions, 'versions'>> {
  return {
    keys: await trustedKeys(settings),
    judge: judgeHere(settings.schemas),
    trusted: settings.published.known,
    now: Date.now,
  }
}

async function openTarget(settings: TargetSettings): Promise<ReleaseTarget> {
  const { policies, dataDirectory, published, over } = settings
  if (policies !== DATABASE_POLICIES) {
    const { folderTarget } = await import('../../tools/release/folder/folder-target.ts')
    const { homeOf } = await import('../../tools/release/folder/layout.ts')
    return folderTarget(await homeOf(policies, dataDirectory))
  }
  const { openDatabaseTarget } = await import('../../tools/release/database-target.ts')
  const { readPolicySigner } = await import('../../identity/keys/policy-keys.ts')
  const signer = published.signingKey === undefined ? undefined : await readPolicySigner(published.signingKey)
  const keys = await trustedKeys(settings)
  const versions = signer && over !== 'any' ? await makeVersions(settings) : await openVersions(settings)
  return openDatabaseTarget({
    versions,
    signer,
    keys,
    judge: judgeHere(settings.schemas),
    trusted: published.known,
    over,
  })
}

/** The keys of POLICY_PUBLIC_KEYS, and the publisher's own. Throws ConfigError without any. */
async function trustedKeys({ published }: VersionSettings): Promise<VersionKeys> {
  const { publicHalf, readPolicyKeys, readPolicySigner } = await import('../../identity/keys/policy-keys.ts')
  const { publicKeys, signingKey } = published
  const own = signingKey === undefined ? [] : await publicHalf(await readPolicySigner(signingKey))
  const others = publicKeys === undefined ? [] : await readPolicyKeys(publicKeys)
  const keys = new Map([...own, ...others])
  if (keys.size > 0) return keys
  throw new ConfigError('POLICY_PUBLIC_KEYS is not set; set it to files with the public keys of published policies')
}

/** Throws ConfigError for a database that isn't there or keeps no policies, and StoreUnavailable. */
async function openVersions({ database, published }: VersionSettings): Promise<PolicyVersions> {
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
