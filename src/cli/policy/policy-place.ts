/** What an argument or a setting names as a policy: a directory, or a version that is published in the database. */
import { DATABASE_POLICIES } from '../../identity/keys/published-settings.ts'
import type { PolicyPlace, PublishedPlace } from '../../tools/load-policy.ts'
import { inVersions, type VersionSettings } from './release-target.ts'

/** A number, a revision, or nothing for the last version. */
const VERSION = /^(?:\d{1,9}|[0-9a-f]{16}|)$/

/** Anything but `database:` with such a version stays a directory, or a git revision. */
export function policyPlace(named: string, settings: VersionSettings): PolicyPlace {
  const version = versionNamed(named)
  return version === undefined ? named : publishedPlace(version, settings)
}

/** The version that `database:<version>` names; undefined for another text. */
export function versionNamed(named: string): string | undefined {
  const version = named.startsWith(DATABASE_POLICIES) ? named.slice(DATABASE_POLICIES.length) : undefined
  return version !== undefined && VERSION.test(version) ? version : undefined
}

function publishedPlace(version: string, settings: VersionSettings): PublishedPlace {
  return {
    name: `${DATABASE_POLICIES}${version}`,
    read: () =>
      inVersions(settings, async (versions, keys) => {
        const { readVersion } = await import('../../tools/release/published-versions.ts')
        const { readingOf } = await import('../../policy/published/published-source.ts')
        const found = await readVersion(versions, keys, version)
        return readingOf(found.version, found.texts)
      }),
    readRevision: (revision) =>
      inVersions(settings, async (versions, keys) => {
        const { publishedRevision } = await import('../../tools/release/published-revision.ts')
        return publishedRevision(revision, versions, keys)
      }),
  }
}
