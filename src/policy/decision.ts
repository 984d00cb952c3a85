/**
 * What `authorize` leaves behind for the stages after it: what was granted, and the permits for writes. A decision is
 * about one caller, one action and one resource; semantics.md ("The actions") is what each kind follows.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Representation, Resource } from '../resources/resource.ts'
import { type Condition, type Document, represent, type StoredObject } from '../store/contract.ts'
import { type Evidence, issuePermit, type Permit } from '../store/permit.ts'
import { type AttributeOf, relationsOf, relationsOfProposal } from './ownership.ts'
import type { Grant, Page } from './page.ts'
import type { Ownership } from './policy.ts'

/** Not permitted. `fieldsRefused` is empty when the action or the object is refused as a whole. */
export class Denied extends Error {
  readonly evidence: Evidence
  /** The resource conceals objects from those who may not read them, and this caller may not. */
  readonly conceal: boolean

  constructor(evidence: Evidence, conceal = false) {
    super('denied by the policy')
    this.name = 'Denied'
    this.evidence = evidence
    this.conceal = conceal
  }
}

/** What a decision is made from: the pages of one caller on one resource. */
export interface Ground {
  readonly resource: Resource
  readonly ownership: Ownership | undefined
  readonly attributeOf: AttributeOf
  /** The page of the action asked for. */
  readonly page: Page
  /** The page of `read`: what an answer to a write shows. */
  readonly readPage: Page
  /** The fields that the route shows; undefined for all. */
  readonly view: ReadonlySet<string> | undefined
}

/** An object as a write would leave it, and the fields that the request named. */
export interface Proposal {
  readonly after: Representation
  readonly named: ReadonlySet<string>
}

/** The action is allowed and no object is concerned: OPTIONS, a redirect, a built-in route. */
export interface RouteDecision {
  readonly kind: 'route'
  readonly evidence: Evidence
  readonly fields: ReadonlySet<string>
}

export interface ListDecision {
  readonly kind: 'list'
  readonly evidence: Evidence
  /** Exactly the objects that may be listed. */
  readonly where: Condition
  /** The fields of one row that are granted, by the row's own relations. */
  show(object: StoredObject): Representation
}

export interface CreateDecision {
  readonly kind: 'create'
  readonly evidence: Evidence
  /** Throws Denied. */
  permit(proposal: Proposal): Permit<'create'>
  show(object: StoredObject): Representation
}

export interface ReadDecision {
  readonly kind: 'read'
  readonly evidence: Evidence
  readonly object: StoredObject
  show(object: StoredObject): Representation
}

export interface UpdateDecision {
  readonly kind: 'update'
  readonly evidence: Evidence
  readonly object: StoredObject
  /** The fields that may be written on the object as it is stored. */
  readonly writable: ReadonlySet<string>
  /**
   * Throws Denied for a field that the caller can neither read nor write, whatever its value: asked before the schema,
   * whose answer would tell what is stored.
   */
  refuseHidden(named: readonly string[]): void
  /** Throws Denied. */
  permit(proposal: Proposal): Permit<'update'>
  show(object: StoredObject): Representation
}

export interface DeleteDecision {
  readonly kind: 'delete'
  readonly evidence: Evidence
  readonly object: StoredObject
  permit(): Permit<'delete'>
}

export type Decision = RouteDecision | ListDecision | CreateDecision | ReadDecision | UpdateDecision | DeleteDecision

/** Role level: refused unless some relation set would be allowed. Comes before any object or body is read. */
export function decideRole(page: Page): RouteDecision {
  const evidence = { relations: [], lines: page.lines, fieldsRefused: [] }
  if (!page.reachable) throw new Denied(evidence)
  return { kind: 'route', evidence, fields: new Set() }
}

export function decideRoute(page: Page): RouteDecision {
  const grant = page.grant([])
  if (grant.fields.size === 0) throw new Denied(evidence([], grant))
  return { kind: 'route', evidence: evidence([], grant), fields: grant.fields }
}

export function decideList(ground: Ground): ListDecision {
  const { page, attributeOf } = ground
  return {
    kind: 'list',
    evidence: { relations: [], lines: page.lines, fieldsRefused: [] },
    where: page.where(attributeOf),
    show: (object) => present(ground, page, object),
  }
}

export function decideCreate(ground: Ground): CreateDecision {
  return {
    kind: 'create',
    evidence: { relations: [], lines: ground.page.lines, fieldsRefused: [] },
    permit: (proposal) => permitCreate(ground, proposal),
    show: (object) => present(ground, ground.readPage, object),
  }
}

export function decideRead(ground: Ground, object: StoredObject): ReadDecision {
  const { evidence } = allowOn(ground, object, ground.view)
  return { kind: 'read', evidence, object, show: (shown) => present(ground, ground.page, shown) }
}

export function decideUpdate(ground: Ground, object: StoredObject): UpdateDecision {
  const { evidence, grant } = allowOn(ground, object)
  return {
    kind: 'update',
    evidence,
    object,
    writable: grant.fields,
    refuseHidden: (named) => refuseHidden(ground, evidence, grant, named),
    permit: (proposal) => permitUpdate(ground, object, proposal),
    show: (shown) => present(ground, ground.readPage, shown),
  }
}

export function decideDelete(ground: Ground, object: StoredObject): DeleteDecision {
  const { evidence } = allowOn(ground, object)
  const { id, version } = object
  const permit = () =>
    issuePermit({ kind: 'delete', resource: ground.resource.name, id, version, document: {}, evidence })
  return { kind: 'delete', evidence, object, permit }
}

/** Object level: the action on the object as it is stored; a read must show at least one field of the route's view. */
function allowOn(
  ground: Ground,
  object: StoredObject,
  view?: ReadonlySet<string>,
): { evidence: Evidence; grant: Grant } {
  const representation = represent(object)
  const relations = relationsOf(ground.ownership, ground.attributeOf, representation)
  const grant = ground.page.grant(relations)
  const proof = evidence(relations, grant)
  if (visible(grant.fields, view).size > 0) return { evidence: proof, grant }
  const hidden = ground.ownership?.conceal === true && ground.readPage.grant(relations).fields.size === 0
  throw new Denied(proof, hidden)
}

function permitCreate(ground: Ground, { after, named }: Proposal): Permit<'create'> {
  const relations = relationsOf(ground.ownership, ground.attributeOf, after)
  const grant = ground.page.grant(relations)
  if (grant.fields.size === 0) throw new Denied(evidence(relations, grant))
  const refused = [...named].filter((field) => !grant.fields.has(field))
  if (refused.length > 0) throw new Denied(evidence(relations, grant, refused))
  return issuePermit({
    kind: 'create',
    resource: ground.resource.name,
    id: String(after.id),
    version: 0,
    document: documentOf(after),
    evidence: evidence(relations, grant),
  })
}

function refuseHidden(
  { resource, readPage }: Ground,
  proof: Evidence,
  { fields }: Grant,
  named: readonly string[],
): void {
  const readable = readPage.grant(proof.relations).fields
  const fieldsRefused = named.filter(
    (field) => resource.fields.has(field) && !fields.has(field) && !readable.has(field),
  )
  if (fieldsRefused.length > 0) throw new Denied({ ...proof, fieldsRefused })
}

/** Allowed on the stored object, and again on the proposed one; every field that changes must be granted both times. */
function permitUpdate(ground: Ground, object: StoredObject, { after, named }: Proposal): Permit<'update'> {
  const before = represent(object)
  const relations = relationsOf(ground.ownership, ground.attributeOf, before)
  const granted = ground.page.grant(relations)
  const readable = ground.readPage.grant(relations).fields
  const proposed = { stored: before, proposed: after }
  const relationsAfter = relationsOfProposal(ground.ownership, ground.attributeOf, proposed)
  const grantedAfter = ground.page.grant(relationsAfter)
  for (const grant of [granted, grantedAfter]) {
    if (grant.fields.size === 0) throw new Denied(evidence(relationsAfter, grant))
  }
  const writable = (field: string) => granted.fields.has(field) && grantedAfter.fields.has(field)
  // Also where it stays the same: an answer that depends on that would tell a value that may not be read.
  const hidden = (field: string) => named.has(field) && !readable.has(field)
  const refused = [...new Set([...Object.keys(before), ...Object.keys(after), ...named])].filter(
    (field) => !writable(field) && (changes(before, after, field) || hidden(field)),
  )
  if (refused.length > 0) throw new Denied(evidence(relations, granted, refused))
  return issuePermit({
    kind: 'update',
    resource: ground.resource.name,
    id: object.id,
    version: object.version,
    document: documentOf(after),
    evidence: evidence(relations, granted),
  })
}

function changes(before: Representation, after: Representation, field: string): boolean {
  const had = Object.hasOwn(before, field)
  return had !== Object.hasOwn(after, field) || (had && !isDeepStrictEqual(before[field], after[field]))
}

/** Field level: what the page grants on the object as it is now, cut to the route's view. */
function present({ ownership, attributeOf, view }: Ground, page: Page, object: StoredObject): Representation {
  const whole = represent(object)
  const fields = visible(page.grant(relationsOf(ownership, attributeOf, whole)).fields, view)
  return Object.fromEntries(Object.entries(whole).filter(([field]) => fields.has(field)))
}

function visible(granted: ReadonlySet<string>, view: ReadonlySet<string> | undefined): ReadonlySet<string> {
  return view ? granted.intersection(view) : granted
}

function documentOf({ id, createdAt, updatedAt, ...document }: Representation): Document {
  return document
}

function evidence(relations: readonly string[], grant: Grant, fieldsRefused: readonly string[] = []): Evidence {
  return { relations, lines: grant.rules.map((rule) => rule.line), fieldsRefused }
}
