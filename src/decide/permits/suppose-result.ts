/** Decisions about supposed objects: only their relations are known, before a write and perhaps after it. */
import { evidenceOf } from '../evidence.ts'
import { type CallerGrants, grantOnResult, readableOn } from '../grants/caller-grants.ts'
import type { Grant } from '../grants/grant.ts'
import type { Refusal } from '../refusal.ts'
import type { ResultNames } from '../rules/terms.ts'
import { refusalOfUpdate } from './check-fields.ts'

/** The decision about an object if only its relations are known. */
export interface SupposedDecision {
  readonly kind: 'supposed'
  /** The second decision's, if there is a result. */
  readonly grant: Grant
  /** The fields that `read` grants on such an object, or on the result; not cut to the route's view. */
  readonly readable: ReadonlySet<string>
  readonly refusal: Refusal | undefined
}

/** What a write leaves, if only its relations are known. */
export interface SupposedResult {
  readonly names: ResultNames
  /** The field that the write changes, if it is known. */
  readonly changed: string | undefined
}

/** The second decision; the first one has allowed the action. */
export function supposeResult(grants: CallerGrants, { names, changed }: SupposedResult): SupposedDecision {
  const named = new Set(changed === undefined ? [] : [changed])
  const grant = grantOnResult(grants, names)
  const fields = { all: named, named, changed: named }
  const refusal = refusalOfUpdate(grants, evidenceOf(names.mixed, grant, {}), { names, fields })
  return { kind: 'supposed', grant, readable: readableOn(grants, names.proposed), refusal }
}
