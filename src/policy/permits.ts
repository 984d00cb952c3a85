/**
 * Issues permits, the only values that a store's write methods accept (test/architecture.test.ts holds that nothing else
 * does): what a write would leave behind is checked against what was granted.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Representation, Resource } from '../resources/resource.ts'
import { type Document, represent, type StoredObject } from '../store/contract.ts'
import { type Evidence, issuePermit, type Permit } from '../store/permit.ts'
import { Denied, DeniedReading, evidenceOf, type Ground, recordAttributes, recordObject } from './ground.ts'
import { relationsOf, relationsOfProposal } from './ownership.ts'
import type { Grant } from './page.ts'

/** An object as a write would leave it, and the fields that the request named. */
export interface Proposal {
  readonly after: Representation
  readonly named: ReadonlySet<string>
  /** The fields that a JSON Patch reads. */
  readonly read?: ReadonlySet<string>
}

/** Throws Denied: the action isn't allowed on the object as it would be, or a named field isn't granted. */
export function permitCreate(ground: Ground, { after, named }: Proposal): Permit<'create'> {
  const relations = relationsOf(ground.ownership, ground.attributeOf, after)
  const grant = ground.page.grant(relations)
  const evidence = evidenceOf(relations, grant, {
    ...recordAttributes(ground),
    proposed: recordObject(ground, after),
    named: [...named],
  })
  if (grant.fields.size === 0) throw new Denied(evidence)
  const fieldsRefused = [...named].filter((field) => !grant.fields.has(field))
  if (fieldsRefused.length > 0) throw new Denied({ ...evidence, fieldsRefused })
  const document = documentOf(after)
  return issuePermit({
    kind: 'create',
    resource: ground.resource.name,
    id: String(after.id),
    version: 0,
    document,
    evidence,
  })
}

/** Throws Denied for a field that may be neither read nor written, whatever its value. */
export function refuseHidden(
  { resource, readPage }: Ground,
  evidence: Evidence,
  { fields }: Grant,
  named: readonly string[],
): void {
  const readable = readPage.grant(evidence.relations).fields
  const known = (field: string) => readable.has(field) || isWritable(resource, fields, field)
  const fieldsRefused = named.filter((field) => resource.fields.has(field) && !known(field))
  if (fieldsRefused.length === 0) return
  throw new Denied({ ...evidence, fieldsRefused, facts: { ...evidence.facts, named } })
}

/** A rule may grant `*`: fields that the server sets are still nobody's to write. */
function isWritable({ fields }: Resource, granted: ReadonlySet<string>, field: string): boolean {
  return granted.has(field) && fields.get(field)?.readOnly !== true
}

/** Throws DeniedReading for a field that may not be read, whatever its value. */
export function refuseUnreadable({ readPage }: Ground, evidence: Evidence, read: readonly string[]): void {
  const readable = readPage.grant(evidence.relations).fields
  const fieldsRefused = read.filter((field) => !readable.has(field))
  if (fieldsRefused.length === 0) return
  throw new DeniedReading({ ...evidence, fieldsRefused, facts: { ...evidence.facts, read } })
}

/**
 * Allowed on the stored object, and again on the proposed one; every field that changes must be granted both times. Throws
 * Denied.
 */
export function permitUpdate(ground: Ground, object: StoredObject, { after, named, read }: Proposal): Permit<'update'> {
  const before = represent(object)
  const relations = relationsOf(ground.ownership, ground.attributeOf, before)
  const granted = ground.page.grant(relations)
  const readable = ground.readPage.grant(relations).fields
  const proposed = { stored: before, proposed: after }
  const relationsAfter = relationsOfProposal(ground.ownership, ground.attributeOf, proposed)
  const grantedAfter = ground.page.grant(relationsAfter)
  const concerned = [...new Set([...Object.keys(before), ...Object.keys(after), ...named])]
  const changed = new Set(concerned.filter((field) => changes(before, after, field)))
  const facts = {
    ...recordAttributes(ground),
    object: recordObject(ground, before),
    proposed: recordObject(ground, after),
    changed: [...changed],
    named: [...named],
    ...(read ? { read: [...read] } : {}),
  }
  for (const grant of [granted, grantedAfter]) {
    if (grant.fields.size === 0) throw new Denied(evidenceOf(relationsAfter, grant, facts))
  }
  const grantedTwice = granted.fields.intersection(grantedAfter.fields)
  // Also where it stays the same: an answer that depends on that would tell a value that may not be read.
  const known = (field: string) => readable.has(field) || isWritable(ground.resource, grantedTwice, field)
  const fieldsRefused = concerned.filter(
    (field) => (changed.has(field) && !grantedTwice.has(field)) || (named.has(field) && !known(field)),
  )
  const evidence = evidenceOf(relations, granted, facts)
  if (fieldsRefused.length > 0) throw new Denied({ ...evidence, fieldsRefused })
  const { id, version } = object
  return issuePermit({
    kind: 'update',
    resource: ground.resource.name,
    id,
    version,
    document: documentOf(after),
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

function changes(before: Representation, after: Representation, field: string): boolean {
  const had = Object.hasOwn(before, field)
  return had !== Object.hasOwn(after, field) || (had && !isDeepStrictEqual(before[field], after[field]))
}

function documentOf({ id, createdAt, updatedAt, ...document }: Representation): Document {
  return document
}
