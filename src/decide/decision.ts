/**
 * The grants of a request, for the stages after `authorize`: fields to show, and permits for writes. A decision is
 * about one caller, one action and one resource; semantics.md ("The actions") defines each kind.
 */

import { represent, type StoredObject } from '../resources/object.ts'
import type { Field, Json, Representation } from '../resources/resource.ts'
import type { Condition } from './condition.ts'
import type { Evidence } from './evidence.ts'
import { attributesOf, type CallerGrants, inView, relate } from './grants/caller-grants.ts'
import type { Grant } from './grants/grant.ts'
import { checkNamed, checkRead, type Proposal, permitCreate, permitDelete, permitUpdate } from './issue-permits.ts'
import type { Permit } from './permit.ts'
import { isRefusal, type Refusal } from './refusal.ts'
import { comparedFields } from './relations/all-kinds.ts'

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
  readonly representation: Representation
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
 * a row.
 */
export type RowFields =
  | { readonly kind: 'alike'; readonly fields: Fields }
  | { readonly kind: 'by row'; readonly compared: Fields; readonly of: (compared: Representation) => Fields }

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
    const { table, roleLevel, attributeOf, view } = grants
    this.#grants = grants
    this.where = table.where(attributeOf)
    this.shown = inView(grants, roleLevel.grantable)
    this.queryable = view ? new Map([...roleLevel.queryable].filter(([name]) => view.has(name))) : roleLevel.queryable
    const everywhere = [...inView(grants, roleLevel.shownInEveryRow)]
    const facts = { ...attributesOf(grants), where: this.where, shown: [...this.shown], everywhere }
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
    return { kind: 'by row', compared, of: (row) => shown(table.grant(relate(this.#grants, row)).fields) }
  }
}

export class CreateDecision {
  readonly kind = 'create'
  readonly #grants: CallerGrants
  #evidence: Evidence

  constructor(grants: CallerGrants) {
    this.#grants = grants
    this.#evidence = { relations: [], lines: grants.roleLevel.lines, fieldsRefused: [], facts: attributesOf(grants) }
  }

  /** What the policy has allowed so far: other stages may still refuse the request. */
  get evidence(): Evidence {
    return this.#evidence
  }

  permit(proposal: Proposal): Permit<'create'> | Refusal {
    return permitCreate(this.#grants, proposal, (evidence) => {
      this.#evidence = evidence
    })
  }

  /** Undefined if no field may be read; an empty object if the object lacks the readable fields. */
  show(object: StoredObject): Representation | undefined {
    return cutUnlessNothing(represent(object), readableOf(this.#grants, object))
  }

  /**
   * An object as it was `then`: the fields that may be read of that state and also, if the object still exists, of its
   * current state.
   */
  showAgain(then: StoredObject, now: StoredObject | undefined): Representation | undefined {
    const fields = readableOf(this.#grants, then)
    return cutUnlessNothing(represent(then), now ? fields.intersection(readableOf(this.#grants, now)) : fields)
  }
}

export class UpdateDecision {
  readonly kind = 'update'
  readonly #grants: CallerGrants
  readonly #grant: Grant
  #evidence: Evidence
  readonly object: StoredObject
  /** The fields that may be read on the object as it is stored. */
  readonly readable: Fields

  constructor(grants: CallerGrants, { object, grant, evidence }: AllowedObject) {
    this.#grants = grants
    this.#grant = grant
    this.#evidence = evidence
    this.object = object
    this.readable = grants.readTable.grant(evidence.relations).fields
  }

  /** What the policy has allowed so far: other stages may still refuse the request. */
  get evidence(): Evidence {
    return this.#evidence
  }

  /** The fields that may be written on the object as it is stored. */
  get writable(): Fields {
    return this.#grant.fields
  }

  /** Refuses a field that the caller can neither read nor write, whatever its value. */
  checkNamed(named: Iterable<string>): Refusal | undefined {
    return this.#tell(checkNamed(this.#grants, this.#evidence, this.#grant, named))
  }

  /** Refuses a field that the caller can't read if the request would reveal its stored value. */
  checkRead(read: Iterable<string>): Refusal | undefined {
    return this.#tell(checkRead(this.#grants, this.#evidence, read))
  }

  /** Also checks the fields that the proposal reads and names. */
  permit(proposal: Proposal): Permit<'update'> | Refusal {
    const { read, named } = proposal
    const refusal = (read && this.checkRead(read)) ?? this.checkNamed(named)
    return refusal ?? permitUpdate(this.#grants, this.object, proposal, (evidence) => this.#tell(evidence))
  }

  /** Undefined if no field may be read; an empty object if the object lacks the readable fields. */
  show(object: StoredObject): Representation | undefined {
    return cutUnlessNothing(represent(object), readableOf(this.#grants, object))
  }

  #tell(result: Evidence | Refusal): Refusal | undefined {
    if (isRefusal(result)) return result
    this.#evidence = result
    return undefined
  }
}

export function readDecision(
  grants: CallerGrants,
  { object, representation, grant, evidence }: AllowedObject,
): ReadDecision {
  const shown = inView(grants, grant.fields)
  const facts = { ...evidence.facts, shown: [...shown] }
  return { kind: 'read', evidence: { ...evidence, facts }, object, shown, representation: cut(representation, shown) }
}

export function deleteDecision(grants: CallerGrants, { object, evidence }: AllowedObject): DeleteDecision {
  return { kind: 'delete', evidence, object, permit: () => permitDelete(grants, object, evidence) }
}

/** Field level: what `read` grants on the object, cut to the route's view. */
function readableOf(grants: CallerGrants, object: StoredObject): Fields {
  return inView(grants, grants.readTable.grant(relate(grants, represent(object))).fields)
}

function cutUnlessNothing(whole: Representation, fields: Fields): Representation | undefined {
  return fields.size === 0 ? undefined : cut(whole, fields)
}

function cut(whole: Representation, fields: Fields): Representation {
  const part: Record<string, Json> = {}
  for (const field of Object.keys(whole)) if (fields.has(field)) part[field] = whole[field] as Json
  return part
}
