/**
 * What `authorize` leaves behind for the stages after it: what was granted, and the permits for writes. A decision is
 * about one caller, one action and one resource; semantics.md ("The actions") is what each kind follows.
 */

import { represent, type StoredObject } from '../resources/object.ts'
import type { Field, Json, Representation } from '../resources/resource.ts'
import type { Condition } from './condition.ts'
import type { Grant, GrantTable } from './grants/grant-table.ts'
import { type RowFields, rowFields } from './grants/row-fields.ts'
import { Denied, evidenceOf, type Ground, recordAttributes, recordObject } from './ground.ts'
import type { Evidence, Permit } from './permit.ts'
import {
  type Passed,
  type Proposal,
  permitCreate,
  permitDelete,
  permitUpdate,
  refuseHidden,
  refuseUnreadable,
} from './permits.ts'
import { relationsOf } from './relations/ownership.ts'

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
  /** What a list of this resource can be asked under the most generous policy. */
  readonly widest: Pick<ListDecision, 'queryable' | 'shown'>
  /** Puts what the query asks for into the evidence, and, where only the policy refuses it, the fields at fault. */
  tellQuery(asked: QueriedFields, refused?: 'by the policy'): void
  /** What each row shows: the fields that are granted by its own relations, of those asked for (undefined: all). */
  rowFields(asked?: ReadonlySet<string>): RowFields
}

/** Names that a query has for fields, declared or not. */
export interface QueriedFields {
  /** Of filters and sort keys. */
  readonly queried: readonly string[]
  /** That the rows are cut to; undefined for all. */
  readonly selected: readonly string[] | undefined
}

export interface CreateDecision {
  readonly kind: 'create'
  readonly evidence: Evidence
  /** Throws Denied, and then what `proposal.refuseUnfit` throws. */
  permit(proposal: Proposal): Permit<'create'>
  /** Undefined where nothing may be read; without members where the object lacks what may be. */
  show(object: StoredObject): Representation | undefined
  /** An object as it was `then`: what may be read of that, and of the object as it is now where it is still there. */
  showAgain(then: StoredObject, now: StoredObject | undefined): Representation | undefined
}

export interface ReadDecision {
  readonly kind: 'read'
  readonly evidence: Evidence
  readonly object: StoredObject
  readonly shown: ReadonlySet<string>
  readonly representation: Representation
}

export interface UpdateDecision {
  readonly kind: 'update'
  readonly evidence: Evidence
  readonly object: StoredObject
  /** The fields that may be written on the object as it is stored. */
  readonly writable: ReadonlySet<string>
  /** The fields that may be read there. */
  readonly readable: ReadonlySet<string>
  /** Throws Denied for a field that the caller can neither read nor write, whatever its value. */
  refuseHidden(named: Iterable<string>): void
  /** Throws DeniedReading for a field whose stored value the request would tell, and that the caller can't read. */
  refuseUnreadable(read: Iterable<string>): void
  /** Throws Denied, and then what `proposal.refuseUnfit` throws. */
  permit(proposal: Proposal): Permit<'update'>
  /** Undefined where nothing may be read; without members where the object lacks what may be. */
  show(object: StoredObject): Representation | undefined
}

export interface DeleteDecision {
  readonly kind: 'delete'
  readonly evidence: Evidence
  readonly object: StoredObject
  permit(): Permit<'delete'>
}

export type Decision = RouteDecision | ListDecision | CreateDecision | ReadDecision | UpdateDecision | DeleteDecision

/**
 * Role level: refused unless some relation set that this caller could have would be allowed. Comes before any object or body
 * is read.
 */
export function decideRole(ground: Ground): RouteDecision {
  const { allowed, lines } = ground.roleLevel
  const evidence = { relations: [], lines, fieldsRefused: [], facts: recordAttributes(ground) }
  if (!allowed) throw new Denied(evidence)
  return { kind: 'route', evidence, fields: new Set() }
}

export function decideRoute(table: GrantTable): RouteDecision {
  const grant = table.grant([])
  const evidence = evidenceOf([], grant, {})
  if (grant.fields.size === 0) throw new Denied(evidence)
  return { kind: 'route', evidence, fields: grant.fields }
}

export function decideList(ground: Ground): ListDecision {
  const { table, roleLevel, attributeOf } = ground
  const where = table.where(attributeOf)
  const shown = visible(roleLevel.grantable, ground.view)
  const everywhere = visible(roleLevel.shownInEveryRow, ground.view)
  const facts = { ...recordAttributes(ground), where, shown: [...shown], everywhere: [...everywhere] }
  const about: Told = { evidence: { relations: [], lines: roleLevel.lines, fieldsRefused: [], facts } }
  const queryable = queryableFields(ground)
  return {
    kind: 'list',
    get evidence() {
      return about.evidence
    },
    where,
    shown,
    queryable,
    get widest() {
      return widestQuery(ground)
    },
    tellQuery(asked, refused) {
      const { queried, selected } = declaredIn(ground, asked)
      const unasked = [
        ...queried.filter((name) => !queryable.has(name)),
        ...selected.filter((name) => !shown.has(name)),
      ]
      tell(about)({
        ...about.evidence,
        fieldsRefused: refused ? [...new Set(unasked)] : [],
        facts: { ...facts, queried, ...(asked.selected ? { selected } : {}) },
      })
    },
    rowFields: (asked) => rowFields(ground, asked),
  }
}

/** A record holds no name that a client made up. */
function declaredIn(
  { resource }: Ground,
  { queried, selected = [] }: QueriedFields,
): Required<QueriedFields> & {
  readonly selected: readonly string[]
} {
  const declared = (names: readonly string[]) => [...new Set(names)].filter((name) => resource.fields.has(name))
  return { queried: declared(queried), selected: declared(selected) }
}

function widestQuery({ resource: { fields } }: Ground): ListDecision['widest'] {
  const queryable = new Map([...fields].filter(([name, { indexed }]) => indexed || name === 'id'))
  return { queryable, shown: new Set(fields.keys()) }
}

function queryableFields({ roleLevel: { queryable }, view }: Ground): ReadonlyMap<string, Field> {
  return view ? new Map([...queryable].filter(([name]) => view.has(name))) : queryable
}

export function decideCreate(ground: Ground): CreateDecision {
  const about: Told = {
    evidence: { relations: [], lines: ground.roleLevel.lines, fieldsRefused: [], facts: recordAttributes(ground) },
  }
  return {
    kind: 'create',
    get evidence() {
      return about.evidence
    },
    permit: (proposal) => permitCreate(ground, proposal, tell(about)),
    show: (object) => present(ground, object),
    showAgain: (then, now) => presentAgain(ground, then, now),
  }
}

export function decideRead(ground: Ground, object: StoredObject): ReadDecision {
  const { evidence, grant, representation } = allowOn(ground, object, ground.view)
  const shown = visible(grant.fields, ground.view)
  const facts = { ...evidence.facts, shown: [...shown] }
  return { kind: 'read', evidence: { ...evidence, facts }, object, shown, representation: cut(representation, shown) }
}

export function decideUpdate(ground: Ground, object: StoredObject): UpdateDecision {
  const { evidence, grant } = allowOn(ground, object)
  const about: Told = { evidence }
  return {
    kind: 'update',
    get evidence() {
      return about.evidence
    },
    object,
    writable: grant.fields,
    readable: ground.readTable.grant(evidence.relations).fields,
    refuseHidden: (named) => tell(about)(refuseHidden(ground, about.evidence, grant, named)),
    refuseUnreadable: (read) => tell(about)(refuseUnreadable(ground, about.evidence, read)),
    permit: (proposal) => permitUpdate(ground, object, proposal, tell(about)),
    show: (shown) => present(ground, shown),
  }
}

/** What a record tells of a write that the policy let pass so far: the preconditions, say, may still refuse it. */
interface Told {
  evidence: Evidence
}

function tell(about: Told): Passed {
  return (evidence) => {
    about.evidence = evidence
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
  const grant = ground.table.grant(relations)
  const facts = { ...recordAttributes(ground), object: recordObject(ground, representation) }
  const evidence = evidenceOf(relations, grant, facts)
  if (visible(grant.fields, view).size > 0) return { evidence, grant, representation }
  const hidden = ground.ownership?.conceal === true && ground.readTable.grant(relations).fields.size === 0
  throw new Denied(evidence, hidden)
}

/** Field level: what `read` grants on the object as it is now, cut to the route's view. */
function present(ground: Ground, object: StoredObject): Representation | undefined {
  return cutUnlessNothing(represent(object), readableOf(ground, object))
}

function presentAgain(ground: Ground, then: StoredObject, now: StoredObject | undefined): Representation | undefined {
  const fields = readableOf(ground, then)
  return cutUnlessNothing(represent(then), now ? fields.intersection(readableOf(ground, now)) : fields)
}

function readableOf({ ownership, attributeOf, readTable, view }: Ground, object: StoredObject): ReadonlySet<string> {
  return visible(readTable.grant(relationsOf(ownership, attributeOf, represent(object))).fields, view)
}

function cutUnlessNothing(whole: Representation, fields: ReadonlySet<string>): Representation | undefined {
  return fields.size === 0 ? undefined : cut(whole, fields)
}

function cut(whole: Representation, fields: ReadonlySet<string>): Representation {
  const part: Record<string, Json> = {}
  for (const field of Object.keys(whole)) if (fields.has(field)) part[field] = whole[field] as Json
  return part
}

function visible(granted: ReadonlySet<string>, view: ReadonlySet<string> | undefined): ReadonlySet<string> {
  return view ? granted.intersection(view) : granted
}
