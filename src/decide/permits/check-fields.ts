/** Which fields of a write the policy refuses, and the refusal: it names the sign-in that would get past it. */

import type { Field, Resource } from '../../resources/resource.ts'
import { type Evidence, evidenceOf } from '../evidence.ts'
import { type CallerGrants, grantOn, grantOnResult, readableOn, withHolding } from '../grants/caller-grants.ts'
import type { Grant } from '../grants/grant.ts'
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

type Check = (grants: CallerGrants) => Unpermitted | undefined

/** The refusal of a write, if the policy doesn't permit it, and the sign-in with which it would. */
export function refusalOfResult(grants: CallerGrants, evidence: Evidence, unpermitted: Check): Refusal | undefined {
  const found = unpermitted(grants)
  if (!found) return undefined
  const { check, fieldsRefused = [] } = found
  return refusalBy(check, { evidence: { ...evidence, fieldsRefused }, ...stepUpPast(grants, unpermitted) })
}

function stepUpPast(grants: CallerGrants, unpermitted: Check): Pick<Refusal, 'stepUp'> {
  return stepUp(grants.conditions, (holding) => unpermitted(withHolding(grants, holding)) === undefined)
}

/** The write of a stored object. */
interface WrittenResult {
  readonly names: ResultNames
  readonly fields: WrittenFields
  /** The fields that a patch reads. */
  readonly read?: Iterable<string> | undefined
}

/**
 * The refusal of the second decision, which also asks for the fields that the caller can't see. If no sign-in gets past
 * both, the result comes first (docs/semantics.md, "Step-up"): a sign-in that gets past the result alone is asked for.
 */
export function refusalOfUpdate(
  grants: CallerGrants,
  evidence: Evidence,
  { names, fields, read = [] }: WrittenResult,
): Refusal | undefined {
  const { named } = fields
  const readable = readableOn(grants, names.stored)
  const unread = named.difference(readable)
  const refusal = refusalOfResult(
    grants,
    evidence,
    (one) =>
      hiddenReads(one, names.stored, read) ??
      hiddenNames(one, names.stored, named) ??
      unpermittedResult(one, names, { ...fields, unread }),
  )
  // The result of a patch that reads a hidden value would tell this value.
  if (!refusal || refusal.stepUp || refusal.check === 'read') return refusal
  const hidden = new Set(hiddenNames(grants, names.stored, named)?.fieldsRefused)
  if (hidden.size === 0) return refusal
  const result = { all: [...fields.all].filter((name) => !hidden.has(name)), named, changed: fields.changed, unread }
  const unpermitted = (one: CallerGrants) => unpermittedResult(one, names, result)
  return unpermitted(grants) ? { ...refusal, ...stepUpPast(grants, unpermitted) } : refusal
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
interface WrittenFields {
  /** Of the object before and after, and of the request. */
  readonly all: Iterable<string>
  readonly named: ReadonlySet<string>
  readonly changed: ReadonlySet<string>
}

/**
 * The second decision: the action on the result, and every field that changes. `unread`: the named fields that the
 * caller can't read now. With a sign-in that would let the caller read one, it doesn't matter whether it changes: an
 * answer before this sign-in must not tell.
 */
function unpermittedResult(
  grants: CallerGrants,
  names: ResultNames,
  { all, named, changed, unread }: WrittenFields & { readonly unread: ReadonlySet<string> },
): Unpermitted | undefined {
  const writable = grantOnResult(grants, names).fields
  if (writable.size === 0) return { check: 'object' }
  const readable = readableOn(grants, names.stored)
  // Also if the value stays the same: an answer that depends on the difference would reveal a value that may not be
  // read.
  const hidden = (field: string) => named.has(field) && !readable.has(field)
  const isRefused = ({ name, readOnly }: Field) =>
    hidden(name) ? readOnly || !writable.has(name) : changed.has(name) && !unread.has(name) && !writable.has(name)
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

// Decisions about supposed objects: only their relations are known, before a write and perhaps after it.

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
