/**
 * The grants of a request, for the stages after `authorize`: fields to show, and permits for writes. A decision is
 * about one caller, one action and one resource; semantics.md ("The actions") defines each kind.
 */

import { represent, type StoredObject } from '../resources/object.ts'
import type { Field, Json, Representation } from '../resources/resource.ts'
import { type Condition, meets } from './conditions/condition.ts'
import type { Evidence } from './evidence.ts'
import type { FactNeed, Steps } from './facts.ts'
import { type CallerGrants, factsOf, inView, readableOn, relatingBy, withConditions } from './grants/caller-grants.ts'
import type { Grant } from './grants/grant.ts'
import {
  checkNamed,
  checkRead,
  type Proposal,
  permitCreate,
  permitDelete,
  permitUpdate,
} from './permits/issue-permits.ts'
import type { Permit } from './permits/permit.ts'
import { isRefusal, type Refusal } from './refusal.ts'
import { comparedFields, followsFrom, kindOf } from './relations/all-kinds.ts'
import { filledFields, type RelatedObject, relate, valuesToFill } from './relations/ownership.ts'
import type { Relation } from './relations/relation-kind.ts'

type Fields = ReadonlySet<string>

export type Decision = RouteDecision | ListDecision | CreateDecision | ReadDecision | UpdateDecision | DeleteDecision

/** The action is allowed and no object is concerned: OPTIONS, a redirect, a built-in route. */
export interface RouteDecision {
  readonly kind: 'route'
  readonly evidence: Evidence
  readonly fields: Fields
}

/** An object on which the action is allowed, as it is stored. */
export interface AllowedObject {
  readonly object: StoredObject
  readonly related: RelatedObject
  readonly grant: Grant
  readonly evidence: Evidence
}

export interface ReadDecision {
  readonly kind: 'read'
  readonly evidence: Evidence
  readonly object: StoredObject
  readonly shown: Fields
  readonly representation: Representation
}

export interface DeleteDecision {
  readonly kind: 'delete'
  readonly evidence: Evidence
  readonly object: StoredObject
  permit(): Permit<'delete'>
}

/** The field names in a query, declared or not. */
export interface QueriedFields {
  /** The names in filters and sort keys. */
  readonly queried: readonly string[]
  /** The fields that the client selects for the rows; undefined for all. */
  readonly selected: readonly string[] | undefined
}

/**
 * The fields that the rows of a list show: the same in each row, or those that `of` returns for the compared fields of
 * a row and for whether each of `marks` holds for it.
 */
export type RowFields =
  | { readonly kind: 'alike'; readonly fields: Fields }
  | {
      readonly kind: 'by row'
      readonly compared: Fields
      readonly of: (compared: Representation, marks: readonly boolean[]) => Fields
    }

export class ListDecision {
  readonly kind = 'list'
  readonly #grants: CallerGrants
  #evidence: Evidence
  /** Matches exactly the objects that may be listed. */
  readonly where: Condition
  /** The fields that at least one row may show. */
  readonly shown: Fields
  /** The fields that the list may be filtered and sorted by: indexed, and shown in every row; by name. */
  readonly queryable: ReadonlyMap<string, Field>

  constructor(grants: CallerGrants) {
    const { table, roleLevel, asking, conditions, view } = grants
    this.#grants = grants
    this.where = table.where(asking, conditions.holding, view)
    this.shown = inView(grants, roleLevel.grantable)
    this.queryable = view ? new Map([...roleLevel.queryable].filter(([name]) => view.has(name))) : roleLevel.queryable
    const everywhere = [...inView(grants, roleLevel.shownInEveryRow)]
    const facts = { ...factsOf(grants), where: this.where, shown: [...this.shown], everywhere }
    this.#evidence = { relations: [], lines: roleLevel.lines, fieldsRefused: [], facts }
  }

  get evidence(): Evidence {
    return this.#evidence
  }

  /** The queries that a list of this resource accepts under the most generous policy. */
  get widest(): Pick<ListDecision, 'queryable' | 'shown'> {
    const { fields } = this.#grants.resource
    const queryable = new Map([...fields].filter(([name, { indexed }]) => indexed || name === 'id'))
    return { queryable, shown: new Set(fields.keys()) }
  }

  /** Adds the query's fields to the evidence and, if only the policy refuses the query, the refused fields. */
  tellQuery(asked: QueriedFields, refused?: 'by the policy'): void {
    const queried = this.#declared(asked.queried)
    const selected = this.#declared(asked.selected ?? [])
    const unasked = [
      ...queried.filter((name) => !this.queryable.has(name)),
      ...selected.filter((name) => !this.shown.has(name)),
    ]
    this.#evidence = {
      ...this.#evidence,
      fieldsRefused: refused ? [...new Set(unasked)] : [],
      facts: { ...this.#evidence.facts, queried, ...(asked.selected ? { selected } : {}) },
    }
  }

  /** A record must not contain names that a client invented. */
  #declared(names: readonly string[]): readonly string[] {
    return [...new Set(names)].filter((name) => this.#grants.resource.fields.has(name))
  }

  /** The fields that each row shows: those of the selected fields (undefined: all) that its own relations grant. */
  rowFields(asked?: Fields): RowFields {
    const { table, roleLevel } = this.#grants
    const shown = (granted: Fields) => {
      const visible = inView(this.#grants, granted)
      return asked ? visible.intersection(asked) : visible
    }
    if (roleLevel.shownAlike) return { kind: 'alike', fields: shown(roleLevel.shownAlike) }
    // Relations that no rule of the table names don't count, so only the fields that the other relations compare are
    // read.
    const compared = new Set(table.compared.flatMap(comparedFields))
    const { holding } = this.#grants.conditions
    const of = (row: Representation, marks: readonly boolean[]) =>
      shown(table.grant(withConditions(this.#relationsOf(row, marks), holding)).fields)
    return { kind: 'by row', compared, of }
  }

  /** What the store must tell of each row beside its fields: the conditions that rest on other objects. */
  get marks(): readonly Condition[] {
    const { table, roleLevel, asking } = this.#grants
    if (roleLevel.shownAlike) return []
    return table.steps.map((relation) => kindOf(relation).condition(relation, asking))
  }

  #relationsOf(row: Representation, marks: readonly boolean[]): readonly string[] {
    const { table, asking } = this.#grants
    const holds = (leaf: Relation) => {
      const mark = table.steps.indexOf(leaf)
      return mark < 0 ? meets(kindOf(leaf).condition(leaf, asking), row) : (marks[mark] ?? false)
    }
    return table.compared.filter((relation) => followsFrom(relation, holds)).map(({ name }) => name)
  }
}

export class CreateDecision {
  readonly kind = 'create'
  readonly #grants: CallerGrants
  #evidence: Evidence

  constructor(grants: CallerGrants) {
    this.#grants = grants
    this.#evidence = { relations: [], lines: grants.roleLevel.lines, fieldsRefused: [], facts: factsOf(grants) }
  }

  /** What the policy has allowed so far: other stages may still refuse the request. */
  get evidence(): Evidence {
    return this.#evidence
  }

  /** The values that the new object gets if the body doesn't name their fields. */
  get filled(): Representation {
    const { resource, ownership, asking } = this.#grants
    return valuesToFill(filledFields(resource, ownership), asking.valuesOf)
  }

  permit(proposal: Proposal): Steps<Permit<'create'> | Refusal, FactNeed> {
    return permitCreate(this.#grants, proposal, (evidence) => {
      this.#evidence = evidence
    })
  }

  /** Undefined if no field may be read; an empty object if the object lacks the readable fields. */
  *show(object: StoredObject): Steps<Representation | undefined, FactNeed> {
    return cutUnlessNothing(represent(object), yield* readableOf(this.#grants, object))
  }

  /**
   * An object as it was `then`: the fields that may be read of that state and also, if the object still exists, of its
   * current state.
   */
  *showAgain(then: StoredObject, now: StoredObject | undefined): Steps<Representation | undefined, FactNeed> {
    const fields = yield* readableOf(this.#grants, then)
    const fieldsNow = now ? yield* readableOf(this.#grants, now) : fields
    return cutUnlessNothing(represent(then), fields.intersection(fieldsNow))
  }
}

export class UpdateDecision {
  readonly kind = 'update'
  readonly #grants: CallerGrants
  readonly #allowed: AllowedObject
  #evidence: Evidence
  readonly object: StoredObject
  /** The fields that may be read on the object as it is stored. */
  readonly readable: Fields

  constructor(grants: CallerGrants, allowed: AllowedObject) {
    this.#grants = grants
    this.#allowed = allowed
    this.#evidence = allowed.evidence
    this.object = allowed.object
    this.readable = readableOn(grants, allowed.related.names)
  }

  /** What the policy has allowed so far: other stages may still refuse the request. */
  get evidence(): Evidence {
    return this.#evidence
  }

  /** The fields that a create fills: a replacement keeps them where its body doesn't name them. */
  get filled(): ReadonlySet<string> {
    const { resource, ownership } = this.#grants
    return new Set(filledFields(resource, ownership).map(({ field }) => field.name))
  }

  /** The fields that may be written on the object as it is stored. */
  get writable(): Fields {
    return this.#allowed.grant.fields
  }

  /** Refuses a field that the caller can neither read nor write, whatever its value. */
  checkNamed(named: Iterable<string>): Refusal | undefined {
    return this.#tell(checkNamed(this.#grants, this.#evidence, named))
  }

  /** Refuses a field that the caller can't read if the request would reveal its stored value. */
  checkRead(read: Iterable<string>): Refusal | undefined {
    return this.#tell(checkRead(this.#grants, this.#evidence, read))
  }

  /** Also checks the fields that the proposal reads and names. */
  *permit(proposal: Proposal): Steps<Permit<'update'> | Refusal, FactNeed> {
    const { read, named } = proposal
    const refusal = (read && this.checkRead(read)) ?? this.checkNamed(named)
    return refusal ?? (yield* permitUpdate(this.#grants, this.#allowed, proposal, (evidence) => this.#tell(evidence)))
  }

  /** Undefined if no field may be read; an empty object if the object lacks the readable fields. */
  *show(object: StoredObject): Steps<Representation | undefined, FactNeed> {
    return cutUnlessNothing(represent(object), yield* readableOf(this.#grants, object))
  }

  #tell(result: Evidence | Refusal): Refusal | undefined {
    if (isRefusal(result)) return result
    this.#evidence = result
    return undefined
  }
}

export function readDecision(grants: CallerGrants, { object, related, grant, evidence }: AllowedObject): ReadDecision {
  const shown = inView(grants, grant.fields)
  const facts = { ...evidence.facts, shown: [...shown] }
  return { kind: 'read', evidence: { ...evidence, facts }, object, shown, representation: cut(related.object, shown) }
}

export function deleteDecision(grants: CallerGrants, { object, evidence }: AllowedObject): DeleteDecision {
  return { kind: 'delete', evidence, object, permit: () => permitDelete(grants, object, evidence) }
}

/** Field level: what `read` grants on the object, cut to the route's view. */
function* readableOf(grants: CallerGrants, object: StoredObject): Steps<Fields, FactNeed> {
  const { names } = yield* relate(relatingBy(grants), represent(object))
  return inView(grants, readableOn(grants, names))
}

function cutUnlessNothing(whole: Representation, fields: Fields): Representation | undefined {
  return fields.size === 0 ? undefined : cut(whole, fields)
}

function cut(whole: Representation, fields: Fields): Representation {
  const part: Record<string, Json> = {}
  for (const field of Object.keys(whole)) if (fields.has(field)) part[field] = whole[field] as Json
  return part
}
