/**
 * What `authorize` leaves behind for the stages after it: what was granted, and the permits for writes. A decision is
 * about one caller, one action and one resource; semantics.md ("The actions") is what each kind follows.
 */
import type { Field, Json, Representation } from '../resources/resource.ts'
import { type Condition, type ListedObject, represent, type StoredObject } from '../store/contract.ts'
import type { Evidence, Permit } from '../store/permit.ts'
import { Denied, evidenceOf, type Ground, recordAttributes, recordObject } from './ground.ts'
import { relationsOf } from './ownership.ts'
import type { Grant, Page } from './page.ts'
import { type Proposal, permitCreate, permitDelete, permitUpdate, refuseHidden, refuseUnreadable } from './permits.ts'
import { rowWriter } from './row-writer.ts'

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
  /** The fields that some row may show. */
  readonly shown: ReadonlySet<string>
  /** The fields that the list may be filtered and sorted by: indexed, and shown in every row; by name. */
  readonly queryable: ReadonlyMap<string, Field>
  /** Shows rows: as JSON text, the fields that are granted by the row's own relations, of those asked for (undefined: all). */
  rowWriter(asked?: ReadonlySet<string>): (row: ListedObject) => string
}

export interface CreateDecision {
  readonly kind: 'create'
  readonly evidence: Evidence
  /** Throws Denied. */
  permit(proposal: Proposal): Permit<'create'>
  show(object: StoredObject): Representation
  /** An object as it was `then`: what may be read of that, and of the object as it is now where it is still there. */
  showAgain(then: StoredObject, now: StoredObject | undefined): Representation
}

export interface ReadDecision {
  readonly kind: 'read'
  readonly evidence: Evidence
  readonly object: StoredObject
  readonly shown: ReadonlySet<string>
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
  /** Throws DeniedReading for a field whose stored value the request would tell, and that the caller can't read. */
  refuseUnreadable(read: readonly string[]): void
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
  const evidence = { relations: [], lines: page.lines, fieldsRefused: [], facts: {} }
  if (!page.reachable) throw new Denied(evidence)
  return { kind: 'route', evidence, fields: new Set() }
}

export function decideRoute(page: Page): RouteDecision {
  const grant = page.grant([])
  const evidence = evidenceOf([], grant, {})
  if (grant.fields.size === 0) throw new Denied(evidence)
  return { kind: 'route', evidence, fields: grant.fields }
}

export function decideList(ground: Ground): ListDecision {
  const { page, attributeOf } = ground
  const where = page.where(attributeOf)
  const shown = visible(page.grantable, ground.view)
  const facts = { ...recordAttributes(ground), where, shown: [...shown] }
  return {
    kind: 'list',
    evidence: { relations: [], lines: page.lines, fieldsRefused: [], facts },
    where,
    shown,
    queryable: queryableFields(ground),
    rowWriter: (asked) => rowWriter(ground, asked),
  }
}

function queryableFields({ page: { queryable }, view }: Ground): ReadonlyMap<string, Field> {
  return view ? new Map([...queryable].filter(([name]) => view.has(name))) : queryable
}

export function decideCreate(ground: Ground): CreateDecision {
  return {
    kind: 'create',
    evidence: { relations: [], lines: ground.page.lines, fieldsRefused: [], facts: recordAttributes(ground) },
    permit: (proposal) => permitCreate(ground, proposal),
    show: (object) => present(ground, ground.readPage, object),
    showAgain: (then, now) => presentAgain(ground, then, now),
  }
}

export function decideRead(ground: Ground, object: StoredObject): ReadDecision {
  const { evidence, grant, representation } = allowOn(ground, object, ground.view)
  const shown = visible(grant.fields, ground.view)
  const facts = { ...evidence.facts, shown: [...shown] }
  const show = (one: StoredObject) => (one === object ? cut(representation, shown) : present(ground, ground.page, one))
  return { kind: 'read', evidence: { ...evidence, facts }, object, shown, show }
}

export function decideUpdate(ground: Ground, object: StoredObject): UpdateDecision {
  const { evidence, grant } = allowOn(ground, object)
  return {
    kind: 'update',
    evidence,
    object,
    writable: grant.fields,
    refuseHidden: (named) => refuseHidden(ground, evidence, grant, named),
    refuseUnreadable: (read) => refuseUnreadable(ground, evidence, read),
    permit: (proposal) => permitUpdate(ground, object, proposal),
    show: (shown) => present(ground, ground.readPage, shown),
  }
}

export function decideDelete(ground: Ground, object: StoredObject): DeleteDecision {
  const { evidence } = allowOn(ground, object)
  return { kind: 'delete', evidence, object, permit: () => permitDelete(ground, object, evidence) }
}

/** Object level: the action on the object as it is stored; a read must show at least one field of the route's view. */
function allowOn(
  ground: Ground,
  object: StoredObject,
  view?: ReadonlySet<string>,
): { evidence: Evidence; grant: Grant; representation: Representation } {
  const representation = represent(object)
  const relations = relationsOf(ground.ownership, ground.attributeOf, representation)
  const grant = ground.page.grant(relations)
  const facts = { ...recordAttributes(ground), object: recordObject(ground, representation) }
  const evidence = evidenceOf(relations, grant, facts)
  if (visible(grant.fields, view).size > 0) return { evidence, grant, representation }
  const hidden = ground.ownership?.conceal === true && ground.readPage.grant(relations).fields.size === 0
  throw new Denied(evidence, hidden)
}

/** Field level: what the page grants on the object as it is now, cut to the route's view. */
function present({ ownership, attributeOf, view }: Ground, page: Page, object: StoredObject): Representation {
  const whole = represent(object)
  const fields = visible(page.grant(relationsOf(ownership, attributeOf, whole)).fields, view)
  return cut(whole, fields)
}

function presentAgain(ground: Ground, then: StoredObject, now: StoredObject | undefined): Representation {
  const shown = present(ground, ground.readPage, then)
  if (!now) return shown
  const { fields } = ground.readPage.grant(relationsOf(ground.ownership, ground.attributeOf, represent(now)))
  return cut(shown, fields)
}

function cut(whole: Representation, fields: ReadonlySet<string>): Representation {
  const part: Record<string, Json> = {}
  for (const field of Object.keys(whole)) if (fields.has(field)) part[field] = whole[field] as Json
  return part
}

function visible(granted: ReadonlySet<string>, view: ReadonlySet<string> | undefined): ReadonlySet<string> {
  return view ? granted.intersection(view) : granted
}
