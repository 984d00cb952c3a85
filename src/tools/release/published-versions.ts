/** The published versions of a database as a publisher sees them: verified one by one. */
import { FileError } from '../../base/diagnostic.ts'
import { readTexts, type VersionTexts } from '../../policy/published/published-source.ts'
import { type PublishedVersion, type VersionKeys, verifyVersion } from '../../policy/published/signed-version.ts'
import type { PolicyVersions } from '../../store/policy-versions.ts'

export interface VerifiedHistory {
  /** In the order of their numbers. */
  readonly versions: readonly PublishedVersion[]
  /** Why others aren't valid, a sentence each. */
  readonly refused: readonly string[]
  /** The number of the last version, valid or not; 0 without any. */
  readonly last: number
}

export async function verifiedHistory(versions: PolicyVersions, keys: VersionKeys): Promise<VerifiedHistory> {
  const stored = await versions.all()
  const verified: PublishedVersion[] = []
  const refused: string[] = []
  for (const { number, signed } of stored) {
    try {
      verified.push(await verifyVersion(number, signed, keys))
    } catch (error) {
      refused.push(faultsText(error))
    }
  }
  return { versions: verified, refused, last: stored.at(-1)?.number ?? 0 }
}

/** Throws FileError if the stored files aren't those that were signed. */
export function textsOf(versions: PolicyVersions, version: PublishedVersion): Promise<VersionTexts> {
  return readTexts(version, versions)
}

/** What a FileError says. Throws any other error. */
export function faultsText(error: unknown): string {
  if (!(error instanceof FileError)) throw error
  return error.diagnostics.map(({ message }) => message).join(', ')
}
