/** The settings of a policy that is published in the database. */
import { readDuration } from '../../base/time.ts'
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
  /** How long the last good policy decides while the published versions can't be read. */
  readonly maxAgeMs: number
}

/** Throws KeyError. */
export function readPublishedSettings(environment: Readonly<Record<string, string | undefined>>): PublishedSettings {
  const age = environment.POLICY_MAX_AGE || '5m'
  const maxAgeMs = readDuration(age)
  if (maxAgeMs === undefined) {
    throw new KeyError(`POLICY_MAX_AGE is ${JSON.stringify(age)}; set it to a number and a unit, as in 90s, 10m or 12h`)
  }
  return Object.freeze({
    publicKeys: environment.POLICY_PUBLIC_KEYS || undefined,
    signingKey: environment.POLICY_SIGNING_KEY || undefined,
    maxAgeMs,
  })
}
