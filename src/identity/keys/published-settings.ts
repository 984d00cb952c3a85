/** The settings of a policy that is published in the database. */
import { readDuration } from '../../base/time.ts'
import type { KnownVersion } from '../../policy/published/version-chain.ts'
import { withoutSecrets } from '../../present/without-secrets.ts'
import { KeyError } from './key-error.ts'

/** The value of POLICIES for a policy that is published in the database. */
export const DATABASE_POLICIES = 'database:'

/** A number, a revision, or nothing for the last version. */
const VERSION = /^(?:\d{1,9}|[0-9a-f]{16}|)$/

/** The version that `database:<version>` names; undefined for another text. */
export function versionNamed(named: string): string | undefined {
  const version = named.startsWith(DATABASE_POLICIES) ? named.slice(DATABASE_POLICIES.length) : undefined
  return version !== undefined && VERSION.test(version) ? version : undefined
}

export interface PublishedSettings {
  /** Names of files, separated by commas. */
  readonly publicKeys: string | undefined
  readonly signingKey: string | undefined
  /** The id of the database whose versions are valid; undefined takes the one that the database has. */
  readonly databaseId: string | undefined
  /** A version that an operator has verified: what people approved before it isn't judged again. */
  readonly known: KnownVersion | undefined
  /** How long the last good policy decides while the published versions can't be read. */
  readonly maxAgeMs: number
}

/**
 * The versions, unless they are in another database than POLICY_DATABASE names: then they are closed. Throws KeyError.
 */
export async function ofDatabase<T extends ClosableVersions>(
  versions: T,
  { databaseId }: Pick<PublishedSettings, 'databaseId'>,
): Promise<T> {
  if (databaseId === undefined) return versions
  const { id } = await versions.home()
  if (id === databaseId) return versions
  await versions.close()
  throw new KeyError(
    `POLICY_DATABASE is ${withoutSecrets(databaseId)}, but the id of the database is ${id}; set DATABASE_URL to the right database, or ` +
      'POLICY_DATABASE to the right id',
  )
}

interface ClosableVersions {
  home(): Promise<{ readonly id: string }>
  close(): Promise<void>
}

function knownVersion(text: string | undefined): KnownVersion | undefined {
  if (text === undefined) return undefined
  const { number, digest } = /^(?<number>[1-9]\d{0,8}):(?<digest>[0-9a-f]{64})$/.exec(text)?.groups ?? {}
  if (number !== undefined && digest !== undefined) return { number: Number(number), digest }
  throw new KeyError(
    `POLICY_KNOWN is ${JSON.stringify(withoutSecrets(text))}; set it to a number and a digest, as \`sallyport policy ` +
      'history --verify` prints them',
  )
}

/** Throws KeyError. */
export function readPublishedSettings(environment: Readonly<Record<string, string | undefined>>): PublishedSettings {
  const age = environment.POLICY_MAX_AGE || '5m'
  const maxAgeMs = readDuration(age)
  if (maxAgeMs === undefined) {
    throw new KeyError(
      `POLICY_MAX_AGE is ${JSON.stringify(withoutSecrets(age))}; set it to a number and a unit, as in 90s, 10m or 12h`,
    )
  }
  return Object.freeze({
    publicKeys: environment.POLICY_PUBLIC_KEYS || undefined,
    signingKey: environment.POLICY_SIGNING_KEY || undefined,
    databaseId: environment.POLICY_DATABASE || undefined,
    known: knownVersion(environment.POLICY_KNOWN || undefined),
    maxAgeMs,
  })
}
