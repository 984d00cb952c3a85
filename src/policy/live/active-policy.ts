/** The policy that decides, and what happens to it. */
import type { SourceFile } from '../../base/diagnostic.ts'
import type { RoleGrants } from '../../decide/caller.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import type { FormerWord } from '../former-words.ts'
import type { Blocked } from '../parse/parse-blocked.ts'
import type { PolicyFiles, Revision } from '../policy-files.ts'

/** The policy that decides a request. It never changes: a change of the files creates a new one. */
export interface ActivePolicy {
  readonly revision: Revision
  /** For the rules in force at the requested time. */
  readonly snapshot: Snapshot
  readonly blocked: Blocked
  /** Roles for a time; only where the policy is published in a database. */
  readonly grants?: RoleGrants | undefined
  /** All published versions up to this number are in force; undefined for a policy from a folder. */
  readonly sequence?: number | undefined
}

export type PolicyEvent =
  | {
      readonly kind: 'activated'
      readonly revision: Revision
      readonly previous: Revision
      readonly before: PolicySources
      readonly after: PolicySources
      /** See ActivePolicy. */
      readonly sequence?: number | undefined
    }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The policy that takes over has these. */
  | { readonly kind: 'former-words'; readonly words: readonly FormerWord[] }
  /** The files were changed back: they match the policy in force again. */
  | { readonly kind: 'recovered'; readonly revision: Revision }
  /** The `until=` of these lines of policy.csv has passed. */
  | { readonly kind: 'ended'; readonly revision: Revision; readonly lines: readonly number[] }

/** The files that a policy was made of. */
export interface PolicySources {
  readonly files: PolicyFiles
  readonly blocked: SourceFile
}
