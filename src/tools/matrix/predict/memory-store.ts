/**
 * The store of a predicted request: a few objects in memory. The whole state is one value, so that each request begins
 * with its own objects at no cost. It keeps no records and no idempotency keys, and has no other writers.
 */
import { type Lookup, lookUpIn, meets } from '../../../decide/conditions/condition.ts'
import type { Permit } from '../../../decide/permits/permit.ts'
import { createdObject, updatedObject } from '../../../decide/permits/permit.ts'
import { documentPart, isScalar, represent, type StoredObject } from '../../../resources/object.ts'
import type { Representation, Resources } from '../../../resources/resource.ts'
import {
  type AggregatedGroup,
  type AggregateQuery,
  type Counted,
  type DeleteOptions,
  type ListedObject,
  LONGEST_GROUPED,
  type ObjectQuery,
  type SortValue,
  type Store,
  type UpdateOptions,
  type WriteOptions,
} from '../../../store/contract.ts'
import { togetherName, UniqueTaken } from '../../../store/errors.ts'
import { JsonRow } from '../../../store/lists/json-row.ts'
import { NumbersSeen } from '../../../store/lists/numbers-seen.ts'
import { compareSortValues, fitsComparison, sortValue } from '../../../store/lists/sort-value.ts'
import type { PlacedObject } from '../fixture/wanted-object.ts'

/** By resource and id. */
export type Objects = ReadonlyMap<string, ReadonlyMap<string, Representation>>

/** What is remembered of the same objects is found again. */
const known = new WeakMap<readonly PlacedObject[], Objects>()

export function objectsOf(placed: readonly PlacedObject[]): Objects {
  return known.getOrInsertComputed(placed, objectsIn)
}

function objectsIn(placed: readonly PlacedObject[]): Objects {
  const byResource = Map.groupBy(placed, ({ resource }) => resource)
  const byId = (some: readonly PlacedObject[]) => new Map(some.map(({ object }) => [String(object.id), object]))
  return new Map([...byResource].map(([resource, some]) => [resource, byId(some)]))
}

export function placedIn(objects: Objects): readonly PlacedObject[] {
  return [...objects].flatMap(([resource, some]) => [...some.values()].map((object) => ({ resource, object })))
}

type WritePermit = Permit<'create'> | Permit<'update'>

export class MemoryStore implements Store {
  readonly #resources: Resources
  /** A write leaves another value. */
  objects: Objects = new Map()

  constructor(resources: Resources) {
    this.#resources = resources
  }

  get(resource: string, id: string): StoredObject | undefined {
    const object = this.objects.get(resource)?.get(id)
    return object && storedOf(object)
  }

  async list(resource: string, query: ObjectQuery): Promise<readonly ListedObject[]> {
    const { order = BY_ID, after, marks = [], limit } = query
    const related = lookUpIn((name) => this.#all(name))
    const valuesOf = (object: Representation) => order.map((key) => sortValue(key, object))
    return this.#selected(resource, query)
      .filter((object) => !after || compareInOrder(order, valuesOf(object), after) > 0)
      .toSorted((one, other) => compareInOrder(order, valuesOf(one), valuesOf(other)))
      .slice(0, limit)
      .map((object) => {
        const { id, createdAt, updatedAt, document } = storedOf(object)
        const held = marks.map((mark) => meets(mark, object, related))
        return new JsonRow(id, createdAt, updatedAt, JSON.stringify(document), held)
      })
  }

  async count(resource: string, query: Pick<ObjectQuery, 'where' | 'filter'>): Promise<Counted> {
    return { found: this.#selected(resource, query).length, isExact: true }
  }

  async aggregate(resource: string, { by, of, limit, ...query }: AggregateQuery): Promise<readonly AggregatedGroup[]> {
    const valuesOf = (object: Representation) =>
      by.map(({ name, type }) => {
        const value = sortValue({ field: name, by: 'value' }, object)
        return isScalar(value) && typeof value === (type === 'integer' ? 'number' : type) ? value : null
      })
    const groups = Map.groupBy(this.#selected(resource, query), (object) => JSON.stringify(valuesOf(object)))
    if (by.length === 0 && groups.size === 0) groups.set('[]', [])
    return [...groups].slice(0, limit).map(([values, objects]) => ({
      values: JSON.parse(values),
      isCut: valuesOf(objects[0] ?? {}).some((one) => Buffer.byteLength(String(one)) > LONGEST_GROUPED),
      count: objects.length,
      numbers: of.map((field) => objects.reduce((seen, one) => seen.add(one[field]), new NumbersSeen()).found),
    }))
  }

  lookup(lookup: Lookup): boolean {
    return lookUpIn((name) => this.#all(name))(lookup)
  }

  async lookupAfter(permit: WritePermit, lookup: Lookup): Promise<boolean> {
    const after = this.#with(permit.resource, this.#written(permit))
    return lookUpIn((name) => after.get(name)?.values() ?? [])(lookup)
  }

  inOneReadTransaction<T>(work: () => T): T {
    return work()
  }

  async kept(): Promise<undefined> {}

  create(permit: Permit<'create'>, options?: WriteOptions): Promise<StoredObject> {
    return this.#write(permit, options)
  }

  async update(permit: Permit<'update'>, { along = [], ...options }: UpdateOptions = {}): Promise<StoredObject> {
    for (const one of along) if (one.kind === 'create') await this.create(one, options)
    return this.#write(permit, options)
  }

  async delete({ resource, id }: Permit<'delete'>, { along = [], time }: DeleteOptions = {}): Promise<void> {
    for (const one of along) {
      if (one.kind === 'delete') await this.delete(one)
      else if (one.kind === 'update') await this.update(one, time === undefined ? {} : { time })
    }
    const others = [...(this.objects.get(resource) ?? [])].filter(([other]) => other !== id)
    this.objects = new Map(this.objects).set(resource, new Map(others))
  }

  async secret(): Promise<Uint8Array> {
    return new Uint8Array(32)
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {}

  #all(resource: string): Iterable<Representation> {
    return this.objects.get(resource)?.values() ?? []
  }

  #selected(resource: string, { where, filter = [] }: Pick<ObjectQuery, 'where' | 'filter'>) {
    const related = lookUpIn((name) => this.#all(name))
    return [...this.#all(resource)].filter(
      (object) => meets(where, object, related) && filter.every((one) => fitsComparison(one, object)),
    )
  }

  async #write(permit: WritePermit, { time }: WriteOptions = {}): Promise<StoredObject> {
    const written = this.#written(permit, time)
    this.#refuseTaken(permit.resource, written)
    this.objects = this.#with(permit.resource, written)
    return storedOf(written)
  }

  #written(permit: WritePermit, time = new Date().toISOString()): Representation {
    const before = this.get(permit.resource, permit.id) ?? { createdAt: time }
    const object = isCreation(permit) ? createdObject(permit, time) : updatedObject(permit, before, time)
    return represent(object)
  }

  #with(resource: string, written: Representation): Objects {
    return new Map(this.objects).set(resource, new Map(this.objects.get(resource)).set(String(written.id), written))
  }

  #refuseTaken(resource: string, written: Representation): void {
    const { fields, uniqueTogether = [] } = this.#resources.byName.get(resource) ?? {}
    const alone = [...(fields?.values() ?? [])].filter((one) => one.unique).map(({ name }) => [name])
    const others = [...this.#all(resource)].filter(({ id }) => id !== written.id)
    const isIn = (name: string, other: Representation) => Object.hasOwn(written, name) && other[name] === written[name]
    const taken = [...alone, ...uniqueTogether].find((names) =>
      others.some((other) => names.every((name) => isIn(name, other))),
    )
    if (taken) throw new UniqueTaken(togetherName(taken))
  }
}

function isCreation(permit: WritePermit): permit is Permit<'create'> {
  return permit.kind === 'create'
}

const BY_ID = [{ field: 'id', by: 'value', descending: false }] as const

function compareInOrder(
  order: NonNullable<ObjectQuery['order']>,
  one: readonly SortValue[],
  other: readonly SortValue[],
): number {
  for (const [i, { descending }] of order.entries()) {
    const compared = compareSortValues(one[i] ?? null, other[i] ?? null)
    if (compared !== 0) return descending ? -compared : compared
  }
  return 0
}

/** Each object as the kernel takes it, made once. */
const stored = new WeakMap<Representation, StoredObject>()

function storedOf(object: Representation): StoredObject {
  return stored.getOrInsertComputed(object, ({ id, createdAt, updatedAt }) => ({
    id: String(id),
    version: 1,
    createdAt: String(createdAt),
    updatedAt: String(updatedAt),
    document: documentPart(object),
  }))
}
