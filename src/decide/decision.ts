/**
 * The grants of a request, for the stages after `authorize`: fields to show, and permits for writes. A decision is
 * about one caller, one action and one resource; semantics.md ("The actions") defines each kind.
 */

import { represent, type StoredObject } from '../resources/object.ts'
import type { FieldNames, Json, Representation } from '../resources/resource.ts'
import type { Evidence } from './evidence.ts'
import type { FactNeed, Steps } from './facts.ts'
import { type CallerGrants, factsOf, grantOnResult, inView, readableOn, relatingBy } from './grants/caller-grants.ts'
import type { Grant } from './grants/grant.ts'
import { ListDecision } from './grants/list-decision.ts'
import type { Sight } from './grants/sight.ts'
import {
  checkNamed,
  checkRead,
  type Proposal,
  permitCreate,
  permitDelete,
  permitUpdate,
  shortEvidence,
} from './permits/issue-permits.ts'
import type { Permit } from './permits/permit.ts'
import { USERS } from './policy.ts'
import { isRefusal, type Refusal } from './refusal.ts'
import { filledFields, type RelatedObject, relate, relateResult, valuesToFill } from './relations/ownership.ts'
import { askingAs } from './relations/relation-kind.ts'

export type Decision =
  | RouteDecision
  | ListDecision
  | CreateDecision
  | ReadDecision
  | UpdateDecision
  | DeleteDecision
  | WatchDecision

/** The action is allowed and no object is concerned: OPTIONS, a redirect, a built-in route. */
export interface RouteDecision {
  readonly kind: 'route'
  readonly evidence: Evidence
  readonly fields: FieldNames
}

/** The caller may follow the events of a resource: those of the objects that its list holds. */
export class WatchDecision {
  readonly kind = 'watch'
  readonly sight: Sight
  /** What a query of the stream may name. */
  readonly list: ListDecision

  constructor(sight: Sight) {
    this.sight = sight
    this.list = new ListDecision(sight.grants.list)
  }

  /** The fields that at least one event may show. */
  get shown(): FieldNames {
    const { watch, read } = this.sight.grants
    return new ListDecision(watch).shown.intersection(new ListDecision(read).shown)
  }

  get evidence(): Evidence {
    const { watch, list, read } = this.sight.grants
    const all = [watch, read, list]
    const facts = all.map((grants) => factsOf(grants))
    const merged = (name: 'attributes' | 'conditions' | 'definitions') => {
      const found = facts.flatMap((one) => one[name] ?? [])
      return found.length > 0 ? { [name]: Object.assign({}, ...found) } : {}
    }
    const lines = [...new Set(all.flatMap(({ roleLevel }) => roleLevel.lines))].sort((a, b) => a - b)
    const asked = { ...this.list.evidence.facts, ...merged('attributes'), ...merged('conditions') }
    return { ...this.list.evidence, lines, facts: { ...asked, ...merged('definitions') } }
  }
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
  readonly shown: FieldNames
  readonly representation: Representation
}

export interface DeleteDecision {
  readonly kind: 'delete'
  readonly evidence: Evidence
  readonly object: StoredObject
  permit(): Permit<'delete'>
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
    const { filled, asking } = this.#grants
    return valuesToFill(filled, asking.valuesOf)
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
    return yield* shownAgain(this.#grants, then, now)
  }
}

export class UpdateDecision {
  readonly kind = 'update'
  readonly #grants: CallerGrants
  readonly #allowed: AllowedObject
  #evidence: Evidence
  readonly object: StoredObject
  /** The fields that may be read on the object as it is stored. */
  readonly readable: FieldNames

  constructor(grants: CallerGrants, allowed: AllowedObject) {
    this.#grants = grants
    this.#allowed = allowed
    this.#evidence = allowed.evidence
    this.object = allowed.object
    this.readable = readableOn(grants, allowed.related.names)
  }

  /** What the policy has allowed so far: other stages may still refuse the request. */
  get evidence(): Evidence {
    return shortEvidence(this.#evidence)
  }

  /** The fields that a create fills: a replacement keeps them where its body doesn't name them. */
  get filled(): ReadonlySet<string> {
    const { resource, ownership } = this.#grants
    return new Set(filledFields(resource, ownership).map(({ field }) => field.name))
  }

  /** The fields that may be written on the object as it is stored. */
  get writable(): FieldNames {
    return this.#allowed.grant.fields
  }

  /** Of these, the fields that may be written if nothing else is known of the result: as if all values stayed. */
  *writableAsIs(): Steps<FieldNames, FactNeed> {
    const { related, grant } = this.#allowed
    const result = yield* relateResult(relatingBy(this.#grants), related, related.object)
    return grant.fields.intersection(grantOnResult(this.#grants, result.names).fields)
  }

  /** Refuses a field that the caller can neither read nor write, whatever its value. */
  checkNamed(named: Iterable<string>): Refusal | undefined {
    return this.#evidenceOrRefusal(checkNamed(this.#grants, this.#evidence, named))
  }

  /** Refuses a field that the caller can't read if the request would reveal its stored value; it also names fields. */
  checkRead(read: Iterable<string>, named: Iterable<string>): Refusal | undefined {
    return this.#evidenceOrRefusal(checkRead(this.#grants, this.#evidence, { read: [...read], named: [...named] }))
  }

  /** Also checks the fields that the proposal reads and names. */
  permit(proposal: Proposal): Steps<Permit<'update'> | Refusal, FactNeed> {
    return permitUpdate(this.#grants, { ...this.#allowed, evidence: this.#evidence }, proposal, (evidence) => {
      this.#evidence = evidence
    })
  }

  /** Undefined if no field may be read; an empty object if the object lacks the readable fields. */
  *show(object: StoredObject): Steps<Representation | undefined, FactNeed> {
    return cutUnlessNothing(represent(object), yield* readableOf(this.#grants, object))
  }

  /** The object as it was `then`, after this caller's own write: what may be read of it, and also of its present state. */
  *showAgain(then: StoredObject): Steps<Representation | undefined, FactNeed> {
    return yield* shownAgain(this.#grants, then, this.object)
  }

  #evidenceOrRefusal(result: Evidence | Refusal): Refusal | undefined {
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

/** Field level: what `read` grants on the object, cut to the route's view, if the object is stored like this. */
function* readableOf(grants: CallerGrants, object: StoredObject): Steps<FieldNames, FactNeed> {
  const { resource, asking: before } = grants
  // The caller's own users record gives the caller's attributes.
  const isOwnRecord = resource.name === USERS && before.valuesOf('id').includes(object.id)
  const asking = isOwnRecord ? askingAs({ ...object.document, id: object.id }, before.now) : before
  const relating = { ...relatingBy(grants), asking, reads: undefined }
  const { names } = yield* relate(relating, represent(object))
  return inView(grants, readableOn(grants, names))
}

function* shownAgain(
  grants: CallerGrants,
  then: StoredObject,
  now: StoredObject | undefined,
): Steps<Representation | undefined, FactNeed> {
  const fields = yield* readableOf(grants, then)
  const fieldsNow = now ? yield* readableOf(grants, now) : fields
  return cutUnlessNothing(represent(then), fields.intersection(fieldsNow))
}

function cutUnlessNothing(whole: Representation, fields: FieldNames): Representation | undefined {
  return fields.size === 0 ? undefined : cut(whole, fields)
}

function cut(whole: Representation, fields: FieldNames): Representation {
  const part: Record<string, Json> = {}
  for (const field of Object.keys(whole)) if (fields.has(field)) part[field] = whole[field] as Json
  return part
}
