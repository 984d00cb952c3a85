/**
 * Issues permits, the only values that a store's write methods accept (test/architecture.test.ts holds that nothing
 * else does): checks the result of a write against the grants, and then against the schema.
 */
import { isDeepStrictEqual } from 'node:util'
import type { FieldFault } from '../../base/problems/problem.ts'
import { type Document, documentPart, type StoredObject } from '../../resources/object.ts'
import type { Field, Representation, Resource } from '../../resources/resource.ts'
import { type Evidence, evidenceOf, type Facts, recordObject } from '../evidence.ts'
import type { FactNeed, Steps } from '../facts.ts'
import {
  type CallerGrants,
  factsOf,
  grantOn,
  grantOnResult,
  readableOn,
  relatedFacts,
  relatingBy,
  withHolding,
} from '../grants/caller-grants.ts'
import { type Refusal, refusalBy } from '../refusal.ts'
import { type RelatedObject, relate, relateResult } from '../relations/ownership.ts'
import { stepUp } from '../request-conditions/step-up.ts'
import { issuePermit, type Permit } from './permit.ts'

/** The object after a write, and the fields that the request names. */
export interface Proposal {
  /**
   * `readOnly` fields are unchanged; the others can have any JSON value, because the policy is checked before the
   * schema.
   */
  readonly after: Representation
  readonly named: ReadonlySet<string>
  /** The fields that a patch reads. */
  readonly read?: ReadonlySet<string>
  /** The fields that a PUT removes if they are stored. */
  readonly removed?: ReadonlySet<string>
  /**
   * The faults that the schema finds in the proposal. The schema is checked last: a fault may depend on any stored
   * value, and must not reveal it to a caller whose fields are refused.
   */
  readonly faults: () => readonly FieldFault[]
}

/**
 * In characters of JSON. Relations don't compare longer values, and a refused proposal wasn't checked against the
 * schema.
 */
const LONGEST_RECORDED = 1000

/** Called with the evidence when the policy allows the write: other checks may still refuse the request. */
export type Passed = (evidence: Evidence) => void

/** Refused: the action on the object as it would be, a named field that isn't granted, the schema, or the size. */
export function* permitCreate(
  grants: CallerGrants,
  { after, named, faults }: Proposal,
  passed: Passed,
): Steps<Permit<'create'> | Refusal, FactNeed> {
  const { resource, recorded, rests } = grants
  const related = yield* relate(relatingBy(grants), after)
  const evidence = evidenceOf(related.names, grantOn(grants, related.names), {
    ...factsOf(grants, related),
    proposed: recordObject(recorded, after),
    named: namesOf(resource, named),
  })
  const refusal = refusalOfResult(grants, short(evidence), (asked): Unpermitted | undefined => {
    const { fields } = grantOn(asked, related.names)
    if (fields.size === 0) return { check: 'object' }
    return fieldsUnpermitted(namesOf(resource, named, ({ name, readOnly }) => !readOnly && !fields.has(name)))
  })
  if (refusal) return refusal
  passed(short(evidence))
  const document = documentPart(after)
  const unfit = refuseUnfit(grants, { faults, document, evidence })
  if (unfit) return unfit
  const { name } = resource
  const restsOn = rests.all
  return issuePermit({ kind: 'create', resource: name, id: String(after.id), version: 0, document, evidence, restsOn })
}

/** Refuses a field that the caller may neither read nor write, whatever its value. */
export function checkNamed(grants: CallerGrants, evidence: Evidence, named: Iterable<string>): Evidence | Refusal {
  const { resource } = grants
  const asked = { ...evidence, facts: { ...evidence.facts, named: namesOf(resource, named) } }
  const unpermitted = (one: CallerGrants) => fieldsUnpermitted(hiddenFields(one, evidence.relations, named))
  return refusalOfResult(grants, asked, unpermitted) ?? asked
}

function hiddenFields(grants: CallerGrants, relations: readonly string[], named: Iterable<string>): readonly string[] {
  const [readable, writable] = [readableOn(grants, relations), grantOn(grants, relations).fields]
  const isHidden = ({ name, readOnly }: Field) => !readable.has(name) && (readOnly || !writable.has(name))
  return namesOf(grants.resource, named, isHidden)
}

/** Refuses a field that the caller may not read if the request would reveal its stored value. */
export function checkRead(grants: CallerGrants, evidence: Evidence, read: Iterable<string>): Evidence | Refusal {
  const { resource } = grants
  const asked = { ...evidence, facts: { ...evidence.facts, read: namesOf(resource, read) } }
  const unpermitted = (one: CallerGrants) => {
    const readable = readableOn(one, evidence.relations)
    return fieldsUnpermitted(
      namesOf(resource, read, ({ name }) => !readable.has(name)),
      'read',
    )
  }
  return refusalOfResult(grants, asked, unpermitted) ?? asked
}

/** Allowed on the stored object, and again on the result; every field that changes must be granted both times. */
export function* permitUpdate(
  grants: CallerGrants,
  { object, related }: { readonly object: StoredObject; readonly related: RelatedObject },
  proposal: Proposal,
  passed: Passed,
): Steps<Permit<'update'> | Refusal, FactNeed> {
  const { after, named, read, removed, faults } = proposal
  const { resource, recorded, rests } = grants
  const before = related.object
  const result = yield* relateResult(relatingBy(grants), related, after)
  const all = new Set([...Object.keys(before), ...Object.keys(after), ...named])
  const changed = new Set(namesOf(resource, all, ({ name }) => changes(before, after, name)))
  const facts = {
    ...factsOf(grants, related),
    ...afterFacts(grants, result.after),
    object: recordObject(recorded, before),
    proposed: recordObject(recorded, after),
    changed: [...changed],
    named: namesOf(resource, named),
    ...(read ? { read: namesOf(resource, read) } : {}),
    ...(removed ? { removed: [...removed] } : {}),
  }
  const granted = grantOn(grants, related.names)
  const evidence = evidenceOf(related.names, granted, facts)
  const grantedAfter = grantOnResult(grants, result.names)
  // A result that is refused as a whole is told by the relations and rules of the second decision.
  const isRefused = grantedAfter.fields.size === 0
  const told = isRefused ? evidenceOf(result.names.mixed, grantedAfter, facts) : evidence
  const refusal = refusalOfResult(grants, short(told), (asked) => {
    const writable = grantOnResult(asked, result.names).fields
    if (writable.size === 0) return { check: 'object' }
    const readable = readableOn(asked, related.names)
    // Also if the value stays the same: an answer that depends on the difference would reveal a value that may not be
    // read.
    const hidden = (field: string) => named.has(field) && !readable.has(field)
    const isRefused = ({ name, readOnly }: Field) =>
      hidden(name) ? readOnly || !writable.has(name) : changed.has(name) && !writable.has(name)
    return fieldsUnpermitted(namesOf(resource, all, isRefused))
  })
  if (refusal) return refusal
  passed(short(evidence))
  const document = documentPart(after)
  const unfit = refuseUnfit(grants, { faults, document, evidence, before: object.document })
  if (unfit) return unfit
  const { id, version } = object
  return issuePermit({ kind: 'update', resource: resource.name, id, version, document, evidence, restsOn: rests.all })
}

/** The permit to delete an object on which `delete` was allowed. */
export function permitDelete(
  { resource, rests }: CallerGrants,
  { id, version }: StoredObject,
  evidence: Evidence,
): Permit<'delete'> {
  const restsOn = rests.all
  return issuePermit({ kind: 'delete', resource: resource.name, id, version, document: {}, evidence, restsOn })
}

/** Why the policy refuses a write: as a whole, or for some fields. */
interface Unpermitted {
  readonly check: 'object' | 'write' | 'read'
  readonly fieldsRefused?: readonly string[]
}

function fieldsUnpermitted(
  fieldsRefused: readonly string[],
  check: 'write' | 'read' = 'write',
): Unpermitted | undefined {
  return fieldsRefused.length === 0 ? undefined : { check, fieldsRefused }
}

/** The refusal of a write, if the policy doesn't permit it, and the sign-in with which it would. */
function refusalOfResult(
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

function afterFacts({ table, readTable }: CallerGrants, after: RelatedObject): Pick<Facts, 'relatedAfter'> {
  return table.steps.length + readTable.steps.length === 0 ? {} : { relatedAfter: relatedFacts(after) }
}

interface Permitted extends Pick<Proposal, 'faults'> {
  readonly document: Document
  readonly evidence?: Evidence
  readonly before?: Document
}

/**
 * An object may be larger than the limit if the write doesn't make it larger: several writes can add up to such an
 * object.
 */
function refuseUnfit(
  { objectBytes }: Pick<CallerGrants, 'objectBytes'>,
  { faults, document, evidence, before }: Permitted,
): Refusal | undefined {
  const told = evidence ? { evidence: short(evidence) } : {}
  const found = faults()
  if (found.length > 0) return refusalBy('schema', { ...told, faults: found })
  const size = sizeOf(document)
  if (size <= objectBytes || (before && size <= sizeOf(before))) return undefined
  return refusalBy('size', { ...told, limitBytes: objectBytes })
}

function sizeOf(document: Document): number {
  return Buffer.byteLength(JSON.stringify(document))
}

/** Those that are declared and that `concerns` picks; the schema refuses what isn't declared. */
function namesOf(
  { fields }: Resource,
  names: Iterable<string>,
  concerns: (field: Field) => boolean = () => true,
): readonly string[] {
  return [...names].filter((name) => {
    const field = fields.get(name)
    return field !== undefined && concerns(field)
  })
}

/** Leaves out values that are too long to be compared: otherwise a refused request could fill the log. */
function short(evidence: Evidence): Evidence {
  const { proposed = {} } = evidence.facts
  const kept = Object.entries(proposed).filter(([, value]) => JSON.stringify(value).length <= LONGEST_RECORDED)
  return { ...evidence, facts: { ...evidence.facts, proposed: Object.fromEntries(kept) } }
}

function changes(before: Representation, after: Representation, field: string): boolean {
  const had = Object.hasOwn(before, field)
  return had !== Object.hasOwn(after, field) || (had && !isDeepStrictEqual(before[field], after[field]))
}
