/** Decisions about assumed objects: only their relations are known, before a write and perhaps after it. */
import { evidenceOf } from '../evidence.ts'
import { type CallerGrants, grantOnResult, readableOn } from '../grants/caller-grants.ts'
import type { Grant } from '../grants/grant.ts'
import type { Refusal } from '../refusal.ts'
import type { ResultNames } from '../rules/terms.ts'
import { refusalOfUpdate } from './issue-permits.ts'

/** The decision about an object if only its relations are known. */
export interface HypotheticalDecision {
  readonly kind: 'hypothetical'
  /** The second decision's, if there is a result. */
  readonly grant: Grant
  /** The fields that `read` grants on such an object, or on the result; not cut to the route's view. */
  readonly readable: ReadonlySet<string>
  readonly refusal: Refusal | undefined
}

/** What a write leaves, if only its relations are known. */
export interface HypotheticalResult {
  readonly names: ResultNames
  /** The field that the write changes, if it is known. */
  readonly changed: string | undefined
}

/** The second decision; the first one has allowed the action. */
export function assumeResult(grants: CallerGrants, { names, changed }: HypotheticalResult): HypotheticalDecision {
  const named = changed === undefined ? grants.sets : grants.sets.union(new Set([changed]))
  const grant = grantOnResult(grants, names)
  const asked = { names, fields: { all: named, named, changed: named } }
  const refusal = refusalOfUpdate(grants, asked, () => evidenceOf(names.mixed, grant, {}))
  return { kind: 'hypothetical', grant, readable: readableOn(grants, names.proposed), refusal }
}
