/**
 * How versions lie in a policy directory, the way Kubernetes mounts a ConfigMap:
 *
 *     policies/policy.csv -> .current/policy.csv     and so on for each file but blocked.txt
 *     policies/.current   -> .versions/0007-1a2b3c4d5e6f7081/live
 *     policies/.versions/0007-1a2b3c4d5e6f7081/      policy.csv …, version.json, live/policy.csv …
 *
 * What people edit through the links is the copy in `live`, so that a version can be brought again as it was. One
 * rename of `.current` changes all files at once. A version above the current one never was in force: a crash left it.
 */
import { join } from 'node:path'
import { CURRENT } from '../policy/place.ts'
import { RULE_FILES } from '../policy/policy-files.ts'

const VERSIONS = '.versions'
export const META = 'version.json'

/** blocked.txt has no versions: no change of rules, and no way back, ever unblocks anybody. */
export const VERSIONED_FILES: readonly string[] = RULE_FILES

export const versionsOf = (directory: string) => join(directory, VERSIONS)
export const currentOf = (directory: string) => join(directory, CURRENT)
export const LIVE = 'live'
export const linkTo = (version: string) => join(VERSIONS, version, LIVE)

/** `0007-1a2b3c4d5e6f7081`. */
export function nameOf({ number, revision }: { readonly number: number; readonly revision: string }): string {
  return `${String(number).padStart(4, '0')}-${revision}`
}

/** Undefined for what is no version's name. */
export function numberOf(name: string): number | undefined {
  const digits = /^(?<digits>\d{4,})-[0-9a-f]{16}$/.exec(name)?.groups?.digits
  return digits === undefined ? undefined : Number(digits)
}
