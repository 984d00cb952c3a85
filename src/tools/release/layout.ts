/**
 * How versions lie. In a policy directory, the way Kubernetes mounts a ConfigMap:
 *
 *     policies/policy.csv -> .current/policy.csv     and so on for each file but blocked.txt
 *     policies/.current   -> .versions/0007-1a2b3c4d5e6f7081/live
 *     policies/.versions/0007-1a2b3c4d5e6f7081/      policy.csv …, version.json, live/policy.csv …
 *
 * What people edit through the links is the copy in `live`, so that a version can be brought again as it was. One
 * rename of `.current` changes all files at once. A version above the current one never was in force: a crash left it.
 *
 * In a git work tree, which would stage the links and the versions, the files stay files, and the versions are elsewhere:
 *
 *     policies/policy.csv                            and so on
 *     data/policy-versions/..%2Fpolicies/.current -> 0007-1a2b3c4d5e6f7081
 *     data/policy-versions/..%2Fpolicies/0007-1a2b3c4d5e6f7081/      policy.csv …, version.json
 *
 * While they are written one by one, `.before` holds the files of before, and they rule: its end is the one moment.
 */
import { join } from 'node:path'
import { RULE_FILES } from '../../policy/policy-files.ts'
import { CURRENT } from '../../policy/policy-folder.ts'

const VERSIONS = '.versions'
export const META = 'version.json'

/** blocked.txt has no versions: no change of rules, and no way back, ever unblocks anybody. */
export const VERSIONED_FILES: readonly string[] = RULE_FILES

export interface Home {
  readonly directory: string
  /** The folder of the versions. */
  readonly versions: string
  /** The link to the one that was put in force last. */
  readonly current: string
  /** Where the versions belong when the directory holds plain files; undefined when it holds links. */
  readonly plainVersions: string | undefined
}

export const LIVE = 'live'

export function linkedHome(directory: string): Home {
  const versions = join(directory, VERSIONS)
  return { directory, versions, current: join(directory, CURRENT), plainVersions: undefined }
}

export function plainHome(directory: string, versions: string): Home {
  return { directory, versions, current: join(versions, CURRENT), plainVersions: versions }
}

/** What the link to a version says. */
export function linkTo({ plainVersions }: Home, version: string): string {
  return plainVersions === undefined ? join(VERSIONS, version, LIVE) : version
}

/** `0007-1a2b3c4d5e6f7081`. */
export function nameOf({ number, revision }: { readonly number: number; readonly revision: string }): string {
  return `${String(number).padStart(4, '0')}-${revision}`
}

/** The name of the version that a link leads to. */
export function versionIn(target: string): string | undefined {
  return target.split('/').find((part) => numberOf(part) !== undefined)
}

/** Undefined for what is no version's name. */
export function numberOf(name: string): number | undefined {
  const digits = /^(?<digits>\d{4,})-[0-9a-f]{16}$/.exec(name)?.groups?.digits
  return digits === undefined ? undefined : Number(digits)
}
