/**
 * Issues permits, the only values that a store's write methods accept (test/architecture.test.ts holds that nothing else
 * does): what a write would leave behind is checked against what was granted, and then against the schema.
 */
import { isDeepStrictEqual } from 'node:util'
import { documentOf, represent, type StoredObject } from '../resources/object.ts'
import type { Field, Representation, Resource } from '../resources/resource.ts'
import type { Grant } from './grants/grant-table.ts'
import { Denied, DeniedReading, evidenceOf, type Ground, recordAttributes, recordObject } from './ground.ts'
import { refuseTooLarge } from './object-size.ts'
import { type Evidence, issuePermit, type Permit } from './permit.ts'
import { relationsOf, relationsOfProposal } from './relations/ownership.ts'

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
   * Throws what the client is told where the schema refuses the proposal. It is asked last: a fault may rest on any stored
   * value, and would tell it to somebody whose fields are refused.
   */
  readonly refuseUnfit: () => void
}

/** In characters of JSON. Relations compare no longer values, and what was refused wasn't held against the schema. */
const LONGEST_RECORDED = 1000

/** Is told what the policy looked at when it had no objection: the request may still be refused by others. */
export type Passed = (evidence: Evidence) => void

/**
 * Throws Denied: the action isn't allowed on the object as it would be, or a named field isn't granted; what `refuseUnfit`
 * throws, and Problem object-too-large.
 */
export function permitCreate(
  ground: Ground,
  { after, named, refuseUnfit }: Proposal,
  passed: Passed,
): Permit<'create'> {
  const relations = relationsOf(ground.ownership, ground.attributeOf, after)
  const grant = ground.table.grant(relations)
  const evidence = evidenceOf(relations, grant, {
    ...recordAttributes(ground),
    proposed: recordObject(ground, after),
    named: namesOf(ground.resource, named),
  })
  if (grant.fields.size === 0) throw new Denied(short(evidence))
  const refused = ({ name, readOnly }: Field) => !readOnly && !grant.fields.has(name)
  const fieldsRefused = namesOf(ground.resource, named, refused)
  if (fieldsRefused.length > 0) throw new Denied({ ...short(evidence), fieldsRefused })
  passed(short(evidence))
  refuseUnfit()
  const document = documentOf(after)
  refuseTooLarge(ground.objectBytes, document)
  return issuePermit({
    kind: 'create',
    resource: ground.resource.name,
    id: String(after.id),
    version: 0,
    document,
    evidence,
  })
}

/** `evidence` with the fields. Throws Denied for a field that may be neither read nor written, whatever its value. */
export function refuseHidden(
  { resource, readTable }: Ground,
  evidence: Evidence,
  { fields }: Grant,
  named: Iterable<string>,
): Evidence {
  const readable = readTable.grant(evidence.relations).fields
  const hidden = ({ name, readOnly }: Field) => !readable.has(name) && (readOnly || !fields.has(name))
  const asked = { ...evidence, facts: { ...evidence.facts, named: namesOf(resource, named) } }
  const fieldsRefused = namesOf(resource, named, hidden)
  if (fieldsRefused.length === 0) return asked
  throw new Denied({ ...asked, fieldsRefused })
}

/** `evidence` with the fields. Throws DeniedReading for a field that may not be read, whatever its value. */
export function refuseUnreadable(
  { resource, readTable }: Ground,
  evidence: Evidence,
  read: Iterable<string>,
): Evidence {
  const readable = readTable.grant(evidence.relations).fields
  const fieldsRefused = namesOf(resource, read, ({ name }) => !readable.has(name))
  const asked = { ...evidence, facts: { ...evidence.facts, read: namesOf(resource, read) } }
  if (fieldsRefused.length === 0) return asked
  throw new DeniedReading({ ...asked, fieldsRefused })
}

/**
 * Allowed on the stored object, and again on the proposed one; every field that changes must be granted both times. Throws
 * Denied, what `refuseUnfit` throws, and Problem object-too-large.
 */
export function permitUpdate(
  ground: Ground,
  object: StoredObject,
  proposal: Proposal,
  passed: Passed,
): Permit<'update'> {
  const { after, named, read, removed, refuseUnfit } = proposal
  const before = represent(object)
  const relations = relationsOf(ground.ownership, ground.attributeOf, before)
  const granted = ground.table.grant(relations)
  const readable = ground.readTable.grant(relations).fields
  const proposed = { stored: before, proposed: after }
  const relationsAfter = relationsOfProposal(ground.ownership, ground.attributeOf, proposed)
  const grantedAfter = ground.table.grant(relationsAfter)
  const all = new Set([...Object.keys(before), ...Object.keys(after), ...named])
  const changed = new Set(namesOf(ground.resource, all, ({ name }) => changes(before, after, name)))
  const facts = {
    ...recordAttributes(ground),
    object: recordObject(ground, before),
    proposed: recordObject(ground, after),
    changed: [...changed],
    named: namesOf(ground.resource, named),
    ...(read ? { read: namesOf(ground.resource, read) } : {}),
    ...(removed ? { removed: [...removed] } : {}),
  }
  for (const grant of [granted, grantedAfter]) {
    if (grant.fields.size === 0) throw new Denied(short(evidenceOf(relationsAfter, grant, facts)))
  }
  const writable = (field: string) => granted.fields.has(field) && grantedAfter.fields.has(field)
  // Also where it stays the same: an answer that depends on that would tell a value that may not be read.
  const hidden = (field: string) => named.has(field) && !readable.has(field)
  const refused = ({ name, readOnly }: Field) =>
    hidden(name) ? readOnly || !writable(name) : changed.has(name) && !writable(name)
  const fieldsRefused = namesOf(ground.resource, all, refused)
  const evidence = evidenceOf(relations, granted, facts)
  if (fieldsRefused.length > 0) throw new Denied({ ...short(evidence), fieldsRefused })
  passed(short(evidence))
  refuseUnfit()
  const document = documentOf(after)
  refuseTooLarge(ground.objectBytes, document, object.document)
  const { id, version } = object
  return issuePermit({
    kind: 'update',
    resource: ground.resource.name,
    id,
    version,
    document,
    evidence,
  })
}

/** For an object on which `delete` was allowed. */
export function permitDelete(
  { resource }: Ground,
  { id, version }: StoredObject,
  evidence: Evidence,
): Permit<'delete'> {
  return issuePermit({ kind: 'delete', resource: resource.name, id, version, document: {}, evidence })
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
