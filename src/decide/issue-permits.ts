/**
 * Issues permits, the only values that a store's write methods accept (test/architecture.test.ts holds that nothing
 * else does): checks the result of a write against the grants, and then against the schema.
 */
import { isDeepStrictEqual } from 'node:util'
import type { FieldFault } from '../base/problems/problem.ts'
import { type Document, documentPart, represent, type StoredObject } from '../resources/object.ts'
import type { Field, Representation, Resource } from '../resources/resource.ts'
import { type Evidence, evidenceOf, recordObject } from './evidence.ts'
import { attributesOf, type CallerGrants, relate } from './grants/caller-grants.ts'
import type { Grant } from './grants/grant.ts'
import { issuePermit, type Permit, type RestsOn } from './permit.ts'
import { type Refusal, refusalBy } from './refusal.ts'
import { relationsOfProposal } from './relations/ownership.ts'

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

const restsOn: RestsOn = { lookups: [] }

/** Called with the evidence when the policy allows the write: other checks may still refuse the request. */
export type Passed = (evidence: Evidence) => void

/** Refused: the action on the object as it would be, a named field that isn't granted, the schema, or the size. */
export function permitCreate(
  grants: CallerGrants,
  { after, named, faults }: Proposal,
  passed: Passed,
): Permit<'create'> | Refusal {
  const { resource, table, recorded } = grants
  const relations = relate(grants, after)
  const grant = table.grant(relations)
  const evidence = evidenceOf(relations, grant, {
    ...attributesOf(grants),
    proposed: recordObject(recorded, after),
    named: namesOf(resource, named),
  })
  if (grant.fields.size === 0) return refusalBy('object', { evidence: short(evidence) })
  const refused = ({ name, readOnly }: Field) => !readOnly && !grant.fields.has(name)
  const fieldsRefused = namesOf(resource, named, refused)
  if (fieldsRefused.length > 0) return refusalBy('write', { evidence: { ...short(evidence), fieldsRefused } })
  passed(short(evidence))
  const document = documentPart(after)
  const unfit = refuseUnfit(grants, { faults, document, evidence })
  if (unfit) return unfit
  const { name } = resource
  return issuePermit({ kind: 'create', resource: name, id: String(after.id), version: 0, document, evidence, restsOn })
}

/** Refuses a field that the caller may neither read nor write, whatever its value. */
export function checkNamed(
  { resource, readTable }: CallerGrants,
  evidence: Evidence,
  { fields }: Grant,
  named: Iterable<string>,
): Evidence | Refusal {
  const readable = readTable.grant(evidence.relations).fields
  const hidden = ({ name, readOnly }: Field) => !readable.has(name) && (readOnly || !fields.has(name))
  const asked = { ...evidence, facts: { ...evidence.facts, named: namesOf(resource, named) } }
  const fieldsRefused = namesOf(resource, named, hidden)
  return fieldsRefused.length === 0 ? asked : refusalBy('write', { evidence: { ...asked, fieldsRefused } })
}

/** Refuses a field that the caller may not read if the request would reveal its stored value. */
export function checkRead(
  { resource, readTable }: CallerGrants,
  evidence: Evidence,
  read: Iterable<string>,
): Evidence | Refusal {
  const readable = readTable.grant(evidence.relations).fields
  const fieldsRefused = namesOf(resource, read, ({ name }) => !readable.has(name))
  const asked = { ...evidence, facts: { ...evidence.facts, read: namesOf(resource, read) } }
  return fieldsRefused.length === 0 ? asked : refusalBy('read', { evidence: { ...asked, fieldsRefused } })
}

/** Allowed on the stored object, and again on the proposed one; every field that changes must be granted both times. */
export function permitUpdate(
  grants: CallerGrants,
  object: StoredObject,
  proposal: Proposal,
  passed: Passed,
): Permit<'update'> | Refusal {
  const { after, named, read, removed, faults } = proposal
  const { resource, table, readTable, recorded } = grants
  const before = represent(object)
  const relations = relate(grants, before)
  const granted = table.grant(relations)
  const readable = readTable.grant(relations).fields
  const proposed = { stored: before, proposed: after }
  const relationsAfter = relationsOfProposal(grants.ownership, grants.attributeOf, proposed)
  const grantedAfter = table.grant(relationsAfter)
  const all = new Set([...Object.keys(before), ...Object.keys(after), ...named])
  const changed = new Set(namesOf(resource, all, ({ name }) => changes(before, after, name)))
  const facts = {
    ...attributesOf(grants),
    object: recordObject(recorded, before),
    proposed: recordObject(recorded, after),
    changed: [...changed],
    named: namesOf(resource, named),
    ...(read ? { read: namesOf(resource, read) } : {}),
    ...(removed ? { removed: [...removed] } : {}),
  }
  for (const grant of [granted, grantedAfter]) {
    if (grant.fields.size === 0)
      return refusalBy('object', { evidence: short(evidenceOf(relationsAfter, grant, facts)) })
  }
  const writable = (field: string) => granted.fields.has(field) && grantedAfter.fields.has(field)
  // Also if the value stays the same: an answer that depends on the difference would reveal a value that may not be
  // read.
  const hidden = (field: string) => named.has(field) && !readable.has(field)
  const refused = ({ name, readOnly }: Field) =>
    hidden(name) ? readOnly || !writable(name) : changed.has(name) && !writable(name)
  const fieldsRefused = namesOf(resource, all, refused)
  const evidence = evidenceOf(relations, granted, facts)
  if (fieldsRefused.length > 0) return refusalBy('write', { evidence: { ...short(evidence), fieldsRefused } })
  passed(short(evidence))
  const document = documentPart(after)
  const unfit = refuseUnfit(grants, { faults, document, evidence, before: object.document })
  if (unfit) return unfit
  const { id, version } = object
  return issuePermit({ kind: 'update', resource: resource.name, id, version, document, evidence, restsOn })
}

/** The permit to delete an object on which `delete` was allowed. */
export function permitDelete(
  { resource }: CallerGrants,
  { id, version }: StoredObject,
  evidence: Evidence,
): Permit<'delete'> {
  return issuePermit({ kind: 'delete', resource: resource.name, id, version, document: {}, evidence, restsOn })
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
