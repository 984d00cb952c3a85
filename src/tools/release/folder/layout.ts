/**
 * The layout of versions. In a policy directory, it is like a ConfigMap that Kubernetes mounts:
 *
 *     policies/policy.csv -> .current/policy.csv     and so on for each file but blocked.txt
 *     policies/.current   -> .versions/0007-1a2b3c4d5e6f7081/live
 *     policies/.versions/0007-1a2b3c4d5e6f7081/      policy.csv …, version.json, live/policy.csv …
 *
 * People edit the copy in `live` through the links, so that the version itself stays unchanged for a rollback. One
 * rename of `.current` changes all files at once. A version above the current one was never in force: a crash left it.
 *
 * In a git work tree, git would stage the links and the versions. So there the files stay files, and the versions are
 * elsewhere:
 *
 *     policies/policy.csv                            and so on
 *     data/policy-versions/..%2Fpolicies/.current -> 0007-1a2b3c4d5e6f7081
 *     data/policy-versions/..%2Fpolicies/0007-1a2b3c4d5e6f7081/      policy.csv …, version.json
 *
 * While the files are written one by one, `.before` holds the previous files, which are in force. Removing `.before` is
 * the atomic step.
 */
import { join } from 'node:path'
import { RULE_FILES } from '../../../policy/policy-files.ts'
import { CURRENT } from '../../../policy/policy-folder.ts'

const VERSIONS = '.versions'
export const META = 'version.json'

/** blocked.txt has no versions: no change of rules, and no rollback, ever unblocks anybody. */
export const VERSIONED_FILES: readonly string[] = RULE_FILES

export interface Home {
  readonly directory: string
  /** The folder of the versions. */
  readonly versions: string
  /** The link to the version that was put in force last. */
  readonly current: string
  /** The folder for the versions if the directory holds plain files; undefined if it holds links. */
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

/** The target of the link to a version. */
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

/** Undefined if the text isn't the name of a version. */
export function numberOf(name: string): number | undefined {
  const digits = /^(?<digits>\d{4,})-[0-9a-f]{16}$/.exec(name)?.groups?.digits
  return digits === undefined ? undefined : Number(digits)
}
