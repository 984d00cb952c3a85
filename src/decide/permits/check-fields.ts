/** Which fields of a write the policy refuses, and the refusal: it names the sign-in that would get past it. */

import type { Field, Resource } from '../../resources/resource.ts'
import type { Evidence } from '../evidence.ts'
import { type CallerGrants, grantOn, grantOnResult, readableOn, withHolding } from '../grants/caller-grants.ts'
import { type Refusal, refusalBy } from '../refusal.ts'
import { stepUp } from '../request-conditions/step-up.ts'
import type { ResultNames } from '../rules/terms.ts'

/** Why the policy refuses a write: as a whole, or for some fields. */
export interface Unpermitted {
  readonly check: 'object' | 'write' | 'read'
  readonly fieldsRefused?: readonly string[]
}

export function fieldsUnpermitted(
  fieldsRefused: readonly string[],
  check: 'write' | 'read' = 'write',
): Unpermitted | undefined {
  return fieldsRefused.length === 0 ? undefined : { check, fieldsRefused }
}

/** The refusal of a write, if the policy doesn't permit it, and the sign-in with which it would. */
export function refusalOfResult(
  grants: CallerGrants,
  evidence: Evidence,
  unpermitted: (grants: CallerGrants) => Unpermitted | undefined,
): Refusal | undefined {
  const found = unpermitted(grants)
  if (!found) return undefined
  const { check, fieldsRefused = [] } = found
  const passes = (holding: readonly string[]) => unpermitted(withHolding(grants, holding)) === undefined
  return refusalBy(check, { evidence: { ...evidence, fieldsRefused }, ...stepUp(grants.conditions, passes) })
}

/** Fields that the caller may neither read nor write. */
export function hiddenNames(
  grants: CallerGrants,
  relations: readonly string[],
  named: Iterable<string>,
): Unpermitted | undefined {
  const [readable, writable] = [readableOn(grants, relations), grantOn(grants, relations).fields]
  const isHidden = ({ name, readOnly }: Field) => !readable.has(name) && (readOnly || !writable.has(name))
  return fieldsUnpermitted(namesOf(grants.resource, named, isHidden))
}

/** Fields whose stored value the request would reveal, and that the caller may not read. */
export function hiddenReads(
  grants: CallerGrants,
  relations: readonly string[],
  read: Iterable<string>,
): Unpermitted | undefined {
  const readable = readableOn(grants, relations)
  const hidden = namesOf(grants.resource, read, ({ name }) => !readable.has(name))
  return fieldsUnpermitted(hidden, 'read')
}

/** The fields of a write, by name. */
export interface WrittenFields {
  /** Of the object before and after, and of the request. */
  readonly all: Iterable<string>
  readonly named: ReadonlySet<string>
  readonly changed: ReadonlySet<string>
}

/** The second decision: the action on the result, and every field that changes. */
export function unpermittedResult(
  grants: CallerGrants,
  names: ResultNames,
  { all, named, changed }: WrittenFields,
): Unpermitted | undefined {
  const writable = grantOnResult(grants, names).fields
  if (writable.size === 0) return { check: 'object' }
  const readable = readableOn(grants, names.stored)
  // Also if the value stays the same: an answer that depends on the difference would reveal a value that may not be
  // read.
  const hidden = (field: string) => named.has(field) && !readable.has(field)
  const isRefused = ({ name, readOnly }: Field) =>
    hidden(name) ? readOnly || !writable.has(name) : changed.has(name) && !writable.has(name)
  return fieldsUnpermitted(namesOf(grants.resource, all, isRefused))
}

/** Those that are declared and that `concerns` picks; the schema refuses what isn't declared. */
export function namesOf(
  { fields }: Resource,
  names: Iterable<string>,
  concerns: (field: Field) => boolean = () => true,
): readonly string[] {
  return [...names].filter((name) => {
    const field = fields.get(name)
    return field !== undefined && concerns(field)
  })
}
