/**
 * What a caller sees of the objects of a resource while it follows their events: those that it may watch, list and read,
 * and of each the fields that a GET shows, as far as `watch` grants them. Callers whose grants and compared attributes are the same share a sight: an
 * object distinguishes them only by the relations that look at their id.
 */

import type { Scalar } from '../../resources/object.ts'
import type { FieldNames, Representation } from '../../resources/resource.ts'
import {
  type Climb,
  type Condition,
  fieldValues,
  type Lookup,
  lookupOf,
  type Related,
} from '../conditions/condition.ts'
import { comparedAttributes, comparedFields, isTimed, kindOf, leavesOf } from '../relations/all-kinds.ts'
import type { CallerAndTime, Relation } from '../relations/relation-kind.ts'
import { type CallerGrants, grantOn, inView } from './caller-grants.ts'
import { relationsOfRow } from './list-decision.ts'

export interface SightGrants {
  readonly watch: CallerGrants
  readonly list: CallerGrants
  readonly read: CallerGrants
}

export class Sight {
  readonly grants: SightGrants
  readonly #compared: readonly Relation[]
  /** By the names of the relations that hold. */
  readonly #known = new Map<string, FieldNames | undefined>()
  /** The relations that rest on other objects. */
  readonly steps: readonly Relation[]
  /** The fields that relations compare with the id of the caller. */
  readonly idFields: readonly string[]
  /** The relations that rest on other objects and look at the id of the caller. */
  readonly #personal: readonly Relation[]
  /** Whether an object can come into sight or leave it because time goes by. */
  readonly isTimed: boolean

  constructor(grants: SightGrants) {
    const tables = Object.values<CallerGrants>({ ...grants }).map(({ table }) => table)
    this.grants = grants
    this.#compared = [...new Set(tables.flatMap(({ compared }) => compared))]
    this.steps = [...new Set(tables.flatMap(({ steps }) => steps))]
    const equations = this.#compared.flatMap(leavesOf).map((leaf) => kindOf(leaf).equates?.(leaf))
    this.idFields = [...new Set(equations.flatMap((one) => (one?.attribute === 'id' ? [one.field] : [])))]
    this.#personal = this.steps.filter((step) => comparedAttributes(step).includes('id'))
    this.isTimed = this.#compared.some(isTimed)
  }

  /**
   * The same text for callers who see the same but for the relations that look at their ids: on any instance, and under
   * each policy that grants the same. What depends on the time is other in each minute.
   */
  get meaning(): string {
    const { watch, list, read } = this.grants
    const attributes = new Set(this.#compared.flatMap(comparedAttributes))
    attributes.delete('id')
    const values = [...attributes].sort().map((name) => [name, [...this.#attribute(name)].sort()])
    const minute = this.isTimed ? Math.floor(watch.asking.now / 60_000) : 0
    const tables = [watch, list, read].map(({ table, conditions }) => [table.meaning, conditions.holding])
    return JSON.stringify([watch.resource.name, tables, values, [...(read.view ?? ['*'])], minute])
  }

  /** Whether the sight stays as it is while the policy, the caller and its record do. */
  get isSettled(): boolean {
    const { watch, list, read } = this.grants
    return !this.isTimed && [watch, list, read].every(({ conditions }) => conditions.named.length === 0)
  }

  /** Whether attributes of the caller, besides its id, decide. */
  get comparesAttributes(): boolean {
    return this.#compared.flatMap(comparedAttributes).some((name) => name !== 'id')
  }

  /** The callers who may be related to the object by their id: for all others, it is as for a stranger. */
  idsIn(object: Representation): readonly Scalar[] {
    return this.idFields.flatMap((field) => fieldValues(object, field))
  }

  /** Whether other objects decide what each caller sees of this one: it names some. */
  looksUpCallers(object: Representation): boolean {
    return this.#personal.some((step) => comparedFields(step).some((field) => fieldValues(object, field).length > 0))
  }

  /** For each of `steps`, what decides whether it holds for a caller; undefined where it can't hold. */
  lookups(object: Representation, caller: string | undefined): readonly (Lookup | undefined)[] {
    return this.stepConditions(caller).map((condition) => condition && lookupOf(condition, object))
  }

  /** For each of `steps`, the condition about other objects; undefined where it holds for no object. */
  stepConditions(caller: string | undefined): readonly (Related | Climb | undefined)[] {
    const asking = this.#askingAs(caller)
    return this.steps.map((step) => {
      const condition: Condition = kindOf(step).condition(step, asking)
      return condition.kind === 'related' || condition.kind === 'climb' ? condition : undefined
    })
  }

  /** The fields of the object that the caller sees; undefined if it doesn't see the object. `held`: which steps hold. */
  shown(object: Representation, caller: string | undefined, held: readonly boolean[]): FieldNames | undefined {
    const by = { compared: this.#compared, steps: this.steps, asking: this.#askingAs(caller) }
    return this.on(relationsOfRow(by, object, held))
  }

  /** The same of an object by the names of the relations that hold. */
  on(names: readonly string[]): FieldNames | undefined {
    return this.#known.getOrInsertComputed(names.join(), () => this.#find(names))
  }

  #find(names: readonly string[]): FieldNames | undefined {
    const { watch, list, read } = this.grants
    if (inView(list, grantOn(list, names).fields).size === 0) return undefined
    const fields = inView(read, grantOn(read, names).fields).intersection(grantOn(watch, names).fields)
    // An event names its object by the id.
    return fields.has('id') ? fields : undefined
  }

  #askingAs(caller: string | undefined): CallerAndTime {
    const { asking } = this.grants.watch
    const ids = caller === undefined ? [] : [caller]
    return { now: asking.now, valuesOf: (name) => (name === 'id' ? ids : this.#attribute(name)) }
  }

  /** Each action has read the attributes that its own rules compare, which are of one record. */
  #attribute(name: string): readonly Scalar[] {
    const { watch, list, read } = this.grants
    const [informed] = [watch, list, read].filter(({ attributes }) => attributes.includes(name))
    return (informed ?? watch).asking.valuesOf(name)
  }
}
