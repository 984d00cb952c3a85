/**
 * Issues permits, the only values that a store's write methods accept (test/architecture.test.ts holds that nothing else
 * does): what a write would leave behind is checked against what was granted, and then against the schema.
 */
import { isDeepStrictEqual } from 'node:util'
import type { FieldFault } from '../base/problems/problem.ts'
import { type Document, documentPart, represent, type StoredObject } from '../resources/object.ts'
import type { Field, Representation, Resource } from '../resources/resource.ts'
import { type Evidence, evidenceOf, recordObject } from './evidence.ts'
import { attributesOf, type CallerGrants, relate } from './grants/caller-grants.ts'
import type { Grant } from './grants/grant.ts'
import { issuePermit, type Permit } from './permit.ts'
import { type Refusal, refusalBy } from './refusal.ts'
import { relationsOfProposal } from './relations/ownership.ts'

/** An object as a write would leave it, and the fields that the request named. */
export interface Proposal {
  /** `readOnly` fields are as they were; the others can be anything that JSON can be: the policy is asked before the schema. */
  readonly after: Representation
  readonly named: ReadonlySet<string>
  /** The fields that a patch reads. */
  readonly read?: ReadonlySet<string>
  /** The fields that a PUT removes where they are stored. */
  readonly removed?: ReadonlySet<string>
  /**
   * What the schema finds wrong with the proposal. It is asked last: a fault may rest on any stored value, and would tell it
   * to somebody whose fields are refused.
   */
  readonly faults: () => readonly FieldFault[]
}

/** In characters of JSON. Relations compare no longer values, and what was refused wasn't held against the schema. */
const LONGEST_RECORDED = 1000

/** Is told what the policy looked at when it had no objection: the request may still be refused by others. */
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
  return issuePermit({ kind: 'create', resource: resource.name, id: String(after.id), version: 0, document, evidence })
}

/** Refuses a field that may be neither read nor written, whatever its value. */
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

/** Refuses a field whose stored value the request would tell, and that may not be read. */
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
  // Also where it stays the same: an answer that depends on that would tell a value that may not be read.
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
  return issuePermit({ kind: 'update', resource: resource.name, id, version, document, evidence })
}

/** For an object on which `delete` was allowed. */
export function permitDelete(
  { resource }: CallerGrants,
  { id, version }: StoredObject,
  evidence: Evidence,
): Permit<'delete'> {
  return issuePermit({ kind: 'delete', resource: resource.name, id, version, document: {}, evidence })
}

interface Permitted extends Pick<Proposal, 'faults'> {
  readonly document: Document
  readonly evidence?: Evidence
  readonly before?: Document
}

/** An object may have more than the most bytes where it becomes no larger than it was: bodies add up. */
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

/** Without what is too long to be compared with anything: else a refused request could fill the log. */
function short(evidence: Evidence): Evidence {
  const { proposed = {} } = evidence.facts
  const kept = Object.entries(proposed).filter(([, value]) => JSON.stringify(value).length <= LONGEST_RECORDED)
  return { ...evidence, facts: { ...evidence.facts, proposed: Object.fromEntries(kept) } }
}

function changes(before: Representation, after: Representation, field: string): boolean {
  const had = Object.hasOwn(before, field)
  return had !== Object.hasOwn(after, field) || (had && !isDeepStrictEqual(before[field], after[field]))
}
