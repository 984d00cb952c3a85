/**
 * Issues permits, the only values that a store's write methods accept (test/architecture.test.ts holds that nothing
 * else does): checks the result of a write against the grants, and then against the schema. A refusal names the sign-in
 * that would get past it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { FieldFault } from '../../base/problems/problem.ts'
import { type Document, documentPart, type StoredObject } from '../../resources/object.ts'
import type { Field, Json, Representation, Resource } from '../../resources/resource.ts'
import { type Evidence, evidenceOf, type Facts, heldBy, recordObject } from '../evidence.ts'
import type { FactNeed, Steps } from '../facts.ts'
import {
  type CallerGrants,
  factsOf,
  grantOn,
  grantOnResult,
  heldSteps,
  readableOn,
  relatingBy,
  withHolding,
} from '../grants/caller-grants.ts'
import { type Refusal, refusalBy } from '../refusal.ts'
import { type RelatedObject, relate, relateResult } from '../relations/ownership.ts'
import { stepUp } from '../request-conditions/step-up.ts'
import { boundsOf, brokenApart } from '../role-guarantees.ts'
import type { ResultNames } from '../rules/terms.ts'
import { issuePermit, type Permit } from './permit.ts'

/** The object after a write, and the fields that the request names. */
export interface Proposal {
  /**
   * `readOnly` fields are unchanged; the others can have any JSON value, because the policy is checked before the
   * schema.
   */
  readonly after: Representation
  readonly named: ReadonlySet<string>
  /** The request chooses the id of the new object. */
  readonly choosesId?: boolean
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
  { after, named, faults, choosesId = false }: Proposal,
  passed: Passed,
): Steps<Permit<'create'> | Refusal, FactNeed> {
  const { resource, table, reads } = grants
  const related = yield* relate(relatingBy(grants), after)
  const evidence = evidenceOf(related.names, grantOn(grants, related.names), {
    ...factsOf(grants, related),
    proposed: recordObject(table.recorded, after),
    named: namesOf(resource, named),
    ...(choosesId ? { chosen: ['id'] } : {}),
  })
  const shortened = shortEvidence(evidence)
  const refusal = refusalOfResult(grants, shortened, (asked): Unpermitted | undefined => {
    const { fields } = grantOn(asked, related.names)
    if (fields.size === 0) return { check: 'object' }
    const refused = namesOf(resource, named, ({ name, readOnly }) => !readOnly && !fields.has(name))
    return fieldsUnpermitted(choosesId && !mayChooseId(asked) ? ['id', ...refused] : refused)
  })
  if (refusal) return refusal
  passed(shortened)
  const document = documentPart(after)
  const unfit = refuseUnfit(grants, { faults, document, evidence })
  if (unfit) return unfit
  const { name } = resource
  const id = String(after.id)
  const bounds = grants.roleGuarantees ? boundsOf(grants.roleGuarantees.atMost, document, undefined) : []
  return issuePermit({ kind: 'create', resource: name, id, version: 0, document, evidence, bounds, readSet: reads })
}

/**
 * Who may create any object, with the field `id`, may also choose the id: the grant rests on no relation, so it is the
 * same for the object that somebody else could have created under this id.
 */
function mayChooseId(grants: CallerGrants): boolean {
  return grantOn(grants, []).fields.has('id')
}

/** Refuses a field that the caller may neither read nor write, whatever its value. */
export function checkNamed(grants: CallerGrants, evidence: Evidence, named: Iterable<string>): Evidence | Refusal {
  const names = [...named]
  const asked = withFacts(evidence, { named: namesOf(grants.resource, names) })
  return refusalOfResult(grants, asked, (one) => hiddenFields(one, evidence.relations, { named: names })) ?? asked
}

/**
 * Refuses a field that the caller may not read if the request would reveal its stored value. A new sign-in must also
 * pass the fields that the request names. It isn't asked about the result, which depends on that value.
 */
export function checkRead(
  grants: CallerGrants,
  evidence: Evidence,
  { read, named }: PatchedFields,
): Evidence | Refusal {
  const { relations } = evidence
  const { resource } = grants
  const asked = withFacts(evidence, { read: namesOf(resource, read), named: namesOf(resource, named) })
  if (!hiddenFields(grants, relations, { read, named: [] })) return asked
  return refusalOfResult(grants, asked, (one) => hiddenFields(one, relations, { read, named })) ?? asked
}

interface PatchedFields {
  /** Those whose stored value the request would reveal. */
  readonly read: Iterable<string>
  readonly named: Iterable<string>
}

function withFacts(evidence: Evidence, facts: Facts): Evidence {
  return { ...evidence, facts: { ...evidence.facts, ...facts } }
}

/**
 * Allowed on the stored object, and again on the result; every field that changes must be granted both times. No answer
 * may reveal a value that the caller can't read.
 */
export function* permitUpdate(
  grants: CallerGrants,
  { object, related, evidence: first }: ObjectWithEvidence,
  proposal: Proposal,
  passed: Passed,
): Steps<Permit<'update'> | Refusal, FactNeed> {
  const { after, named, read, removed, faults } = proposal
  const { resource, table, reads } = grants
  const before = related.object
  const result = yield* relateResult(relatingBy(grants), related, after)
  const all = new Set([...Object.keys(before), ...Object.keys(after), ...named])
  const changed = new Set(namesOf(resource, all, ({ name }) => changes(before, after, name)))
  const stepsAfter = heldSteps(grants, result.after)
  const facts = {
    ...factsOf(grants, related),
    ...(stepsAfter.length > 0 ? { relatedAfter: heldBy(stepsAfter) } : {}),
    object: recordObject(table.recorded, before),
    proposed: recordObject(table.recorded, after),
    changed: [...changed],
    named: namesOf(resource, named),
    ...(read ? { read: namesOf(resource, read) } : {}),
    ...(removed ? { removed: [...removed] } : {}),
  }
  const granted = grantOn(grants, related.names)
  const evidence = evidenceOf(related.names, granted, facts)
  const grantedAfter = grantOnResult(grants, result.names)
  // A result that is refused as a whole is recorded with the relations and rules of the second decision.
  const isRefused = grantedAfter.fields.size === 0
  const shortened = isRefused ? evidenceOf(result.names.mixed, grantedAfter, facts) : evidence
  const refusal = refusalOfUpdate(grants, { names: result.names, fields: { all, named, changed }, read }, (isHidden) =>
    shortEvidence(isHidden ? { ...first, facts } : shortened),
  )
  if (refusal) return refusal
  passed(evidence)
  const document = documentPart(after)
  const unfit = refuseUnfit(grants, { faults, document, evidence, before: object.document })
  if (unfit) return unfit
  const { id, version } = object
  const bounds = grants.roleGuarantees ? boundsOf(grants.roleGuarantees.atMost, document, object.document) : []
  const write = { id, version, document, evidence, bounds, readSet: reads }
  return issuePermit({ kind: 'update', resource: resource.name, ...write })
}

/** An object on which the action is allowed, as it is stored, and the evidence of that decision. */
interface ObjectWithEvidence {
  readonly object: StoredObject
  readonly related: RelatedObject
  readonly evidence: Evidence
}

/** The permit to delete an object on which `delete` was allowed. */
export function permitDelete(
  { resource, reads }: CallerGrants,
  { id, version }: StoredObject,
  evidence: Evidence,
): Permit<'delete'> {
  const write = { id, version, document: {}, evidence, bounds: [], readSet: reads }
  return issuePermit({ kind: 'delete', resource: resource.name, ...write })
}

/**
 * The permit to take away what an object refers to, because that is deleted. The schema declares it (`"onDelete": "null"`),
 * so no rule is asked.
 */
export function permitUnset(
  resource: Resource,
  { id, version, document }: StoredObject,
  fields: ReadonlySet<string>,
): Permit<'update'> {
  const kept = Object.entries(document).flatMap(([name, value]): readonly [string, Json][] => {
    if (!fields.has(name)) return [[name, value]]
    return resource.fields.get(name)?.reference?.nullable ? [[name, null]] : []
  })
  const write = { id, version, document: Object.fromEntries(kept), evidence: NOTHING_ASKED, bounds: [] }
  return issuePermit({ kind: 'update', resource: resource.name, ...write, readSet: { lookups: [] } })
}

/** The permit for an object that a command creates whose own grant is enough (`grants: steps`), so no rule is asked. */
export function permitByCommand(
  resource: Resource,
  { after, faults }: Proposal,
  objectBytes: number,
): Permit<'create'> | Refusal {
  const document = documentPart(after)
  const unfit = refuseUnfit({ objectBytes, roleGuarantees: undefined }, { faults, document })
  if (unfit) return unfit
  const write = { id: String(after.id), version: 0, document, evidence: NOTHING_ASKED, bounds: [] }
  return issuePermit({ kind: 'create', resource: resource.name, ...write, readSet: { lookups: [] } })
}

const NOTHING_ASKED: Evidence = { relations: [], lines: [], fieldsRefused: [], facts: {} }

interface PermittedWrite extends Pick<Proposal, 'faults'> {
  readonly document: Document
  readonly evidence?: Evidence
  readonly before?: Document
}

/**
 * An object may be larger than the limit if the write doesn't make it larger: several writes can add up to such an
 * object.
 */
function refuseUnfit(
  { objectBytes, roleGuarantees }: Pick<CallerGrants, 'objectBytes' | 'roleGuarantees'>,
  { faults, document, evidence, before }: PermittedWrite,
): Refusal | undefined {
  const shortened = () => (evidence ? { evidence: shortEvidence(evidence) } : {})
  const found = faults()
  if (found.length > 0) return refusalBy('schema', { ...shortened(), faults: found })
  const size = sizeOf(document)
  if (size > objectBytes && !(before && size <= sizeOf(before))) {
    return refusalBy('size', { ...shortened(), limitBytes: objectBytes })
  }
  const broken = roleGuarantees && brokenApart(roleGuarantees.apart, document, before)
  return broken ? refusalBy('roles-apart', { ...shortened(), roles: broken.roles }) : undefined
}

function sizeOf(document: Document): number {
  return Buffer.byteLength(JSON.stringify(document))
}

/** Leaves out values that are too long to be compared: otherwise a refused request could fill the log. */
export function shortEvidence(evidence: Evidence): Evidence {
  const { proposed = {} } = evidence.facts
  if (Object.values(proposed).every(isShort)) return evidence
  const kept = Object.entries(proposed).filter(([, value]) => isShort(value))
  return { ...evidence, facts: { ...evidence.facts, proposed: Object.fromEntries(kept) } }
}

function isShort(value: Json): boolean {
  // In JSON, a character takes 6 at most.
  if (typeof value === 'string' && 6 * value.length + 2 <= LONGEST_RECORDED) return true
  return JSON.stringify(value).length <= LONGEST_RECORDED
}

function changes(before: Representation, after: Representation, field: string): boolean {
  const had = Object.hasOwn(before, field)
  return had !== Object.hasOwn(after, field) || (had && !isDeepStrictEqual(before[field], after[field]))
}

// Which fields of a write the policy refuses.

/** Why the policy refuses a write: as a whole, or for some fields. */
interface Unpermitted {
  readonly check: 'object' | 'write' | 'read'
  readonly fieldsRefused?: readonly string[]
}

function fieldsUnpermitted(fieldsRefused: readonly string[]): Unpermitted | undefined {
  return fieldsRefused.length === 0 ? undefined : { check: 'write', fieldsRefused }
}

type PermitCheck = (grants: CallerGrants) => Unpermitted | undefined

/** The refusal of a write, if the policy doesn't permit it, and the sign-in with which it would. */
function refusalOfResult(grants: CallerGrants, evidence: Evidence, unpermitted: PermitCheck): Refusal | undefined {
  const found = unpermitted(grants)
  if (!found) return undefined
  const { check, fieldsRefused = [] } = found
  return refusalBy(check, { evidence: { ...evidence, fieldsRefused }, ...stepUpPast(grants, unpermitted) })
}

function stepUpPast(grants: CallerGrants, unpermitted: PermitCheck): Pick<Refusal, 'stepUp'> {
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
 * `evidenceBy`: the evidence of the refusal. A request for hidden fields is refused by the first decision, whose evidence
 * is another one.
 */
export function refusalOfUpdate(
  grants: CallerGrants,
  { names, fields, read = [] }: WrittenResult,
  evidenceBy: (isHidden: boolean) => Evidence,
): Refusal | undefined {
  const { named } = fields
  const unread = named.difference(readableOn(grants, names.stored))
  const unpermittedTo = (one: CallerGrants) =>
    hiddenFields(one, names.stored, { read, named }) ?? unpermittedResult(one, names, { ...fields, unread })
  const found = unpermittedTo(grants)
  if (!found) return undefined
  const hidden = new Set(hiddenFields(grants, names.stored, { named })?.fieldsRefused)
  const refusal = refusalOfResult(grants, evidenceBy(found.check === 'read' || hidden.size > 0), unpermittedTo)
  // The result of a patch that reads a hidden value would reveal this value.
  if (!refusal || refusal.stepUp || refusal.check === 'read' || hidden.size === 0) return refusal
  const result = { all: [...fields.all].filter((name) => !hidden.has(name)), named, changed: fields.changed, unread }
  const unpermitted = (one: CallerGrants) => unpermittedResult(one, names, result)
  return unpermitted(grants) ? { ...refusal, ...stepUpPast(grants, unpermitted) } : refusal
}

/** What the request would reveal and the caller may not read; else the named fields that it may neither read nor write. */
function hiddenFields(
  grants: CallerGrants,
  relations: readonly string[],
  { read = [], named }: Pick<PatchedFields, 'named'> & Partial<PatchedFields>,
): Unpermitted | undefined {
  const [readable, writable] = [readableOn(grants, relations), grantOn(grants, relations).fields]
  const revealed = namesOf(grants.resource, read, ({ name }) => !readable.has(name))
  if (revealed.length > 0) return { check: 'read', fieldsRefused: revealed }
  const isHidden = ({ name, readOnly }: Field) => !readable.has(name) && (readOnly || !writable.has(name))
  return fieldsUnpermitted(namesOf(grants.resource, named, isHidden))
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
 * answer before this sign-in must not reveal.
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
  const isRefused = ({ name, readOnly }: Field) =>
    named.has(name) && !readable.has(name)
      ? readOnly || !writable.has(name)
      : changed.has(name) && !unread.has(name) && !writable.has(name)
  return fieldsUnpermitted(namesOf(grants.resource, all, isRefused))
}

/** Those that are declared and that `concerns` picks; the schema refuses what isn't declared. */
function namesOf(
  { fields }: Resource,
  names: Iterable<string>,
  concerns?: (field: Field) => boolean,
): readonly string[] {
  const found: string[] = []
  for (const name of names) {
    const field = fields.get(name)
    if (field && (concerns?.(field) ?? true)) found.push(name)
  }
  return found
}
