/** What an argument or a setting names as a policy: a directory, or a version that is published in the database. */
import { DATABASE_POLICIES, versionNamed } from '../../identity/keys/published-settings.ts'
import type { PolicyPlace, PublishedPlace } from '../../tools/load-policy.ts'
import { inVersions, type VersionSettings } from './release-target.ts'

/** Anything but `database:` with such a version stays a directory, or a git revision. */
export function policyPlace(named: string, settings: VersionSettings): PolicyPlace {
  const version = versionNamed(named)
  return version === undefined ? named : publishedPlace(version, settings)
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
