/**
 * The situations of one write and of the objects around it, before and after: the object that is written, the object
 * that somebody may do more with afterwards, and what lies between them. Related objects are looked at as they are
 * stored before a write (docs/semantics.md, "replace, update"), so there are three moments: `old`, the `proposed`
 * object among old ones, and `new`. Objects outside of these can make a relation hold too.
 */
import { ANYTHING } from '../../../analysis/possible-sets.ts'
import { EVERYWHERE, NOWHERE, type Region, Regions } from '../../../analysis/regions.ts'
import type { ResourceSpace } from '../../../analysis/space.ts'
import { USERS } from '../../../decide/policy.ts'
import {
  comparedAttributes,
  comparedFields,
  holdsForOwnRecord,
  kindOf,
  needsCaller,
  stepOf,
  valuesWhoeverAsks,
} from '../../../decide/relations/all-kinds.ts'
import type { Relation, RelationStep } from '../../../decide/relations/relation-kind.ts'
import type { Operation, Resource, Resources } from '../../../resources/resource.ts'
import { holdTogether } from './related-objects.ts'

export class WriteSpace {
  readonly regions: Regions
  readonly around: WriteAround
  readonly #places: readonly ObjectInSpace[]
  readonly #variables = new Map<string, Region>()
  readonly #known = new Map<string, Region>()

  constructor(around: WriteAround) {
    this.around = around
    this.regions = new Regions(around.written.resource.name)
    this.#places = [around.written, ...around.others]
  }

  isWritten(place: ObjectInSpace): boolean {
    return place === this.around.written
  }

  /** Where a condition holds when `asked`: the write and what follows are two requests. */
  condition(name: string, asked: 'write' | 'afterwards'): Region {
    return this.#variable(`condition ${asked} ${name}`)
  }

  /** Where a relation holds for an object. */
  holds(place: ObjectInSpace, relation: Relation, moment: WriteMoment): Region {
    const parts = kindOf(relation).parts?.(relation)
    if (parts) return this.regions[parts.need](parts.of.map((part) => this.holds(place, part, moment)))
    if (moment === 'without') return this.holds(place, relation, this.#isGrantable(relation) ? 'old' : 'new')
    return this.#remembered(['holds', this.#nameOf(place), relation.name, moment], () => {
      const step = stepOf(relation)
      return step ? this.#reaches(place, { leaf: relation, step }, moment) : this.#compares(place, relation, moment)
    })
  }

  /** Where the write changes whether the caller has the relation, other than by a field of the object itself. */
  changes(place: ObjectInSpace, leaf: Relation): Region {
    if (!this.#isGrantable(leaf)) return NOWHERE
    return this.regions.differ(this.holds(place, leaf, 'old'), this.holds(place, leaf, 'new'))
  }

  #isGrantable(leaf: Relation): boolean {
    return needsCaller(leaf) && (stepOf(leaf) !== undefined || this.#isOfOwnRecord(leaf))
  }

  /** Where the written object is the caller's own users record. */
  get own(): Region {
    const { operation, written } = this.around
    const { resource, space } = written
    if (resource.name !== USERS || operation === 'create') return NOWHERE
    const self = space.leaves.find(holdsForOwnRecord)
    return self ? this.holds(this.around.written, self, 'old') : this.#variable('own record')
  }

  /** Where the written object isn't related to anybody, as for a caller without credentials. */
  get unrelated(): Region {
    const { written } = this.around
    const leaves = written.space.leaves.filter(needsCaller)
    const held = leaves.flatMap((leaf) => [this.holds(written, leaf, 'old'), this.holds(written, leaf, 'proposed')])
    return this.regions.not(this.regions.any(held))
  }

  /** The leaves of the written object and the conditions that hold before the write, in a smallest situation. */
  heldBefore(region: Region): readonly string[] {
    const { written } = this.around
    const { regions } = this
    const situation = regions.smallest(region)
    const leaves = written.space.leaves.filter((leaf) => regions.has(this.holds(written, leaf, 'old'), situation))
    const conditions = written.space.conditions.filter((name) => regions.has(this.condition(name, 'write'), situation))
    return [...leaves.map(({ name }) => name), ...conditions]
  }

  /** What a write can change about a leaf of the written object: whether it holds, or whether others make it hold. */
  ofItself(leaf: Relation, moment: 'old' | 'proposed'): Region {
    const { written } = this.around
    return stepOf(leaf) ? this.#support(written, leaf, moment) : this.holds(written, leaf, moment)
  }

  /** The attributes of the caller that its own record has, and on which relations rest. */
  get attributes(): readonly string[] {
    return [...new Set(this.#places.flatMap(({ space }) => space.leaves.flatMap(changeableAttributes)))]
  }

  // ---- Leaves -------------------------------------------------------------------------------------------------------

  #compares(place: ObjectInSpace, leaf: Relation, moment: AskedMoment): Region {
    const isWritten = place === this.around.written
    const key = `${this.#nameOf(place)} ${leaf.name}`
    const base = this.#variable(isWritten && moment !== 'old' ? `${key} proposed` : key)
    return moment === 'new' ? this.#afterWrite(leaf, key, base) : base
  }

  /**
   * Where an attribute of the caller has changed, the relation can hold or not, whatever it did. Whoever deletes its
   * own record has no attributes.
   */
  #afterWrite(leaf: Relation, key: string, before: Region): Region {
    if (!this.#isOfOwnRecord(leaf)) return before
    const { regions } = this
    const changed = regions.any(changeableAttributes(leaf).map((name) => this.changedAttribute(name)))
    const isGone = this.around.operation === 'delete'
    const changedTo = isGone ? NOWHERE : regions.both(changed, this.#variable(`${key} changed`))
    return regions.either(regions.minus(before, changed), changedTo)
  }

  #isOfOwnRecord(leaf: Relation): boolean {
    return this.around.written.resource.name === USERS && changeableAttributes(leaf).length > 0
  }

  /** Where the write gives the caller another value of an attribute. */
  changedAttribute(attribute: string): Region {
    const isGone = this.around.operation === 'delete'
    return isGone ? this.own : this.regions.both(this.own, this.#variable(`attribute ${attribute}`))
  }

  #reaches(place: ObjectInSpace, { leaf, step }: { leaf: Relation; step: RelationStep }, moment: AskedMoment): Region {
    const { regions } = this
    const pointing = this.#pointers(place, leaf, step, moment)
    const led = pointing.map(({ target, region }) => {
      const at = inOthers(moment)
      return regions.all([region, this.#exists(target, at), this.#innerHolds(target, step, leaf, at)])
    })
    const support = this.#support(place, leaf, moment)
    const field = comparedFields(leaf)[0] ?? ''
    const isOne = step.by === 'id' && !place.resource.fields.get(field)?.list
    const elsewhere = isOne ? regions.minus(support, regions.any(pointing.map(({ region }) => region))) : support
    return regions.either(regions.any(led), elsewhere)
  }

  /** For a climb, the object has the relation, or one further up does. */
  #innerHolds(target: ObjectInSpace, step: RelationStep, leaf: Relation, moment: AskedMoment): Region {
    const inner = this.holds(target, step.relation, moment)
    const further = furtherUp(leaf, 1).map((one) => this.holds(target, one, moment))
    return this.regions.any([inner, ...further])
  }

  /** The places of the step's resource, and where the step leads to them. */
  #pointers(place: ObjectInSpace, leaf: Relation, { resource, by }: RelationStep, moment: AskedMoment) {
    const [field = ''] = comparedFields(leaf)
    return this.#places
      .filter((target) => target !== place && target.resource.name === resource)
      .map((target) => {
        const region =
          by === 'id' ? this.points(place, field, target, moment) : this.points(target, by, place, inOthers(moment))
        return { target, region }
      })
  }

  /** Where a field of one object has the id of another one. Nothing has the id of an object that is yet to be made. */
  points(holder: ObjectInSpace, field: string, target: ObjectInSpace, moment: AskedMoment): Region {
    const { written, operation } = this.around
    if (target === written && operation === 'create') return NOWHERE
    const isNew = holder === written && moment !== 'old'
    return this.#variable(`${this.#nameOf(holder)} ${field} ${this.#nameOf(target)}${isNew ? ' proposed' : ''}`)
  }

  #exists(place: ObjectInSpace, moment: 'old' | 'new'): Region {
    const { written, operation } = this.around
    if (place !== written) return EVERYWHERE
    const isThere = moment === 'old' ? operation !== 'create' : operation !== 'delete'
    return isThere ? EVERYWHERE : NOWHERE
  }

  /** Where objects outside of these make the relation hold. */
  #support(place: ObjectInSpace, leaf: Relation, moment: AskedMoment): Region {
    const isNew = place === this.around.written && moment !== 'old' && stepOf(leaf)?.by === 'id'
    const key = `${this.#nameOf(place)} ${leaf.name} elsewhere`
    const base = this.#variable(`${key}${isNew ? ' proposed' : ''}`)
    return moment === 'new' ? this.#afterWrite(leaf, key, base) : base
  }

  // ---- What can be --------------------------------------------------------------------------------------------------

  /** Where the objects other than the written one can be as they are. */
  get possible(): Region {
    const moments = ['old', 'new'] as const
    const { written } = this.around
    return this.regions.all([
      ...this.#places.flatMap((place) => moments.map((moment) => this.#possibleAt(place, moment))),
      this.#possibleAt(written, 'proposed'),
      ...this.#onePerson(),
      ...this.#ownAttributes(),
    ])
  }

  #possibleAt(place: ObjectInSpace, moment: 'old' | 'proposed' | 'new'): Region {
    const { resource, space } = place
    const { resources } = this.around
    const { regions } = this
    const held = (name: Relation | string) => (typeof name === 'string' ? EVERYWHERE : this.holds(place, name, moment))
    const support = (leaf: Relation) => this.#support(place, leaf, moment)
    const leaves = space.leaves.flatMap((leaf) => [leaf, ...furtherUp(leaf, this.#places.length)])
    return regions.all([
      space.translatorTo(regions, held, NOWHERE)(space.storedSide(space.possibleSituations)),
      holdTogether(regions, leaves, { resource, resources }, support),
      ...this.#valued(place, moment),
    ])
  }

  /** A field that names a person or an object has a value, and one alone unless it is a list. */
  #valued(place: ObjectInSpace, moment: 'old' | 'proposed' | 'new'): readonly Region[] {
    const { regions } = this
    const { leaves } = place.space
    const fields = [...new Set(leaves.flatMap((leaf) => (valuesWhoeverAsks(leaf) ? [] : comparedFields(leaf))))]
    return fields.flatMap((name) => {
      const here = leaves.filter((leaf) => comparedFields(leaf).includes(name))
      const present = here.filter((leaf) => valuesWhoeverAsks(leaf)?.accepts(ANYTHING))
      const naming = here.filter((leaf) => !valuesWhoeverAsks(leaf)).map((leaf) => this.holds(place, leaf, moment))
      const targets = this.targetsOf(place, name)
      const pointing = targets.map((target) => this.points(place, name, target, moment))
      const isOne = !place.resource.fields.get(name)?.list
      return [
        ...present.map((leaf) =>
          regions.either(this.holds(place, leaf, moment), regions.not(regions.any([...naming, ...pointing]))),
        ),
        ...(isOne ? apart(regions, pointing) : []),
      ]
    })
  }

  /** The objects whose ids a field can have. */
  targetsOf(holder: ObjectInSpace, field: string): readonly ObjectInSpace[] {
    const ways = this.#places.flatMap(({ resource, space }) =>
      space.leaves.flatMap((leaf) => {
        const step = stepOf(leaf)
        if (!step) return []
        if (step.by === 'id' && resource === holder.resource && comparedFields(leaf).includes(field))
          return [step.resource]
        return step.by === field && step.resource === holder.resource.name ? [resource.name] : []
      }),
    )
    return this.#places.filter((place) => place !== holder && ways.includes(place.resource.name))
  }

  /** Only one object is the caller's own record. */
  #onePerson(): readonly Region[] {
    const records = this.#places.map((place) => {
      const self = place.space.leaves.filter(holdsForOwnRecord).map((leaf) => this.holds(place, leaf, 'old'))
      return { place, region: place === this.around.written ? this.own : this.regions.any(self) }
    })
    return [...Map.groupBy(records, ({ place }) => place.resource).values()].flatMap((some) =>
      apart(
        this.regions,
        some.map(({ region }) => region),
      ),
    )
  }

  /** On the own record, a field that the caller is compared by has another value exactly if the attribute has. */
  #ownAttributes(): readonly Region[] {
    const { written } = this.around
    const { regions } = this
    const { fields } = written.resource
    return written.space.leaves.flatMap((leaf) => {
      const { field = '', attribute } = kindOf(leaf).equates?.(leaf) ?? {}
      if (!this.#isOfOwnRecord(leaf) || field !== attribute || fields.get(field)?.list) return []
      const [stored, proposed] = [this.holds(written, leaf, 'old'), this.holds(written, leaf, 'proposed')]
      const kept = regions.minus(this.own, this.changedAttribute(attribute))
      return [
        regions.not(regions.both(this.changedAttribute(attribute), proposed)),
        regions.not(regions.both(kept, regions.differ(stored, proposed))),
        ...this.#withoutAttribute(leaf, attribute),
      ]
    })
  }

  /** Where the own record has no value of the attribute, no relation holds that needs it. */
  #withoutAttribute(own: Relation, attribute: string): readonly Region[] {
    const { regions } = this
    return (['old', 'new'] as const).flatMap((moment) => {
      const lacks = regions.minus(this.own, this.holds(this.around.written, own, moment))
      return this.#places.flatMap((place) =>
        place.space.leaves
          .filter((leaf) => needsAttribute(leaf, attribute))
          .map((leaf) => regions.not(regions.both(lacks, this.holds(place, leaf, moment)))),
      )
    })
  }

  // ---- Variables ----------------------------------------------------------------------------------------------------

  #nameOf(place: ObjectInSpace): number {
    return this.#places.indexOf(place)
  }

  #variable(key: string): Region {
    return this.#variables.getOrInsertComputed(key, () => this.regions.where(this.#variables.size))
  }

  #remembered(key: readonly unknown[], make: () => Region): Region {
    return this.#known.getOrInsertComputed(JSON.stringify(key), make)
  }
}

/** The fields of related objects are looked at as they were, until the write is done. */
function inOthers(moment: AskedMoment): Exclude<AskedMoment, 'proposed'> {
  return moment === 'proposed' ? 'old' : moment
}

/** No two of them hold together. */
function apart(regions: Regions, some: readonly Region[]): readonly Region[] {
  return some.flatMap((one, i) => some.slice(i + 1).map((other) => regions.not(regions.both(one, other))))
}

// ---- What a write is about: its objects and moments.

/** `without`: as after the write, but nothing that relates the caller to an object by other objects has changed. */
export type WriteMoment = 'old' | 'proposed' | 'new' | 'without'

type AskedMoment = Exclude<WriteMoment, 'without'>

/** An object of these situations. */
export interface ObjectInSpace {
  readonly resource: Resource
  readonly space: ResourceSpace
}

export interface WriteAround {
  readonly operation: Operation
  readonly written: ObjectInSpace
  /** The others: each can lead to each. */
  readonly others: readonly ObjectInSpace[]
  readonly resources: Resources
}

// ---- What one leaf says by itself: what a climb asks further up, and the attributes of the caller.

/** What a climb asks of the objects on its way, with fewer steps left. */
function furtherUp(leaf: Relation, most: number): readonly Relation[] {
  const { depth = 1 } = stepOf(leaf) ?? {}
  if (depth === 1 || most === 0) return []
  const [name] = leaf.name.split(' within ')
  const further = { ...leaf, name: `${name} within ${depth - 1}`, depth: depth - 1 }
  return [further, ...furtherUp(further, most - 1)]
}

/** The attributes of the caller that a users record can have. */
function changeableAttributes(leaf: Relation): readonly string[] {
  return comparedAttributes(leaf).filter((name) => name !== 'id')
}

/** Whether the relation holds for no caller without a value of the attribute. */
function needsAttribute(relation: Relation, attribute: string): boolean {
  const parts = kindOf(relation).parts?.(relation)
  if (parts) return parts.of[parts.need === 'all' ? 'some' : 'every']((part) => needsAttribute(part, attribute))
  const step = stepOf(relation)
  return step ? needsAttribute(step.relation, attribute) : kindOf(relation).equates?.(relation).attribute === attribute
}
