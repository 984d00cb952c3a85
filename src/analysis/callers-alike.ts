/**
 * Callers that a decision about one object can't tell apart: the same subjects that rules name, and the same relations to
 * the object. Who has such a relation is looked up from the object, so that one decision counts for all who are alike.
 * What a relation means is not written again here: each group is decided by the gate, with the facts of one of it.
 */
import { fieldValues, isComparable, type Lookup, lookUpIn } from '../decide/conditions/condition.ts'
import type { Subject } from '../decide/grants/subjects.ts'
import { comparedFields, kindOf, leavesOf, stepOf } from '../decide/relations/all-kinds.ts'
import type { CallerValues, Relation } from '../decide/relations/relation-kind.ts'
import type { Snapshot } from '../decide/snapshot.ts'
import type { Scalar } from '../resources/object.ts'
import type { Representation, Resource } from '../resources/resource.ts'
import type { ReadBy, Store } from '../store/contract.ts'
import { readListed } from '../store/lists/json-row.ts'
import { MemberCutter } from '../store/lists/member-cutter.ts'

/** The stored objects whose field has one of these values; undefined if there are more than anybody would read. */
export type FindObjects = (
  resource: string,
  field: string,
  values: readonly Scalar[],
) => Promise<readonly Representation[] | undefined>

const WHOLE = new MemberCutter({ has: () => true })

export function findIn(store: Pick<Store, 'list'>, most: number, by?: ReadBy): FindObjects {
  return async (resource, field, values) => {
    const found = await store.list(resource, { where: { kind: 'holds', field, values }, limit: most + 1 }, by)
    return found.length > most ? undefined : found.map((row) => readListed(row, WHOLE))
  }
}

/** An object with a field that names the caller, on the way from the object of the question. */
export interface NamingObject {
  /** The relation of the question's object that leads here: one without parts. */
  readonly leaf: Relation
  /** `orders/17`, then the objects on the way; this one last. */
  readonly path: readonly string[]
  /** Equal for objects that no decision tells apart. */
  readonly place: string
}

interface CallerMention {
  readonly object: NamingObject
  readonly field: string
}

/** Callers are as the policy sees them, with the values that relations compare. */
export interface AskingSubject {
  readonly subject: Subject
  readonly blocked: boolean
  readonly valuesOf: CallerValues
}

export class CallersAlike {
  /** The relations that some rule of the action or of `read` names. */
  readonly compared: readonly Relation[]
  /** The caller's values that they look at, besides `id`. */
  readonly attributes: readonly string[]
  /**
   * Whether an object is stored that answers it, by the same reading that tells who is alike; undefined where there are
   * too many objects.
   */
  readonly lookup: ((lookup: Lookup) => boolean) | undefined
  readonly #id: Scalar | undefined
  /** By attribute and value; undefined where there are too many objects: then nobody is like another. */
  readonly #naming: ReadonlyMap<string, ReadonlyMap<Scalar, readonly CallerMention[]>> | undefined

  constructor({ compared, attributes, object, naming, read }: AlikeParts) {
    this.compared = compared
    this.attributes = attributes
    this.#id = object?.id as Scalar | undefined
    this.#naming = naming
    this.lookup = naming && lookUpIn((resource) => read.get(resource)?.values() ?? [])
  }

  /** Equal for two callers only if each decision about the object is the same for both. */
  keyOf({ subject, blocked, valuesOf }: AskingSubject): string {
    const { names, lost = [], caller } = subject
    const values = this.#naming ? [] : ['id', ...this.attributes].map(valuesOf)
    const has = this.attributes.filter((attribute) => valuesOf(attribute).length > 0)
    const places = this.namingOf(valuesOf).map(([{ place }, fields]) => `${place} ${fields.toSorted().join()}`)
    const isOwn = caller !== undefined && caller.id === this.#id
    return JSON.stringify([names, lost, blocked, isOwn, has, values, [...new Set(places)].toSorted()])
  }

  /** The objects that name the caller, and the fields in which they do. */
  namingOf(valuesOf: CallerValues): readonly (readonly [NamingObject, readonly string[]])[] {
    const found = new Map<NamingObject, Set<string>>()
    for (const [attribute, byValue] of this.#naming ?? []) {
      for (const value of valuesOf(attribute)) {
        for (const { object, field } of byValue.get(value) ?? [])
          found.getOrInsertComputed(object, () => new Set()).add(`${field}=${attribute}`)
      }
    }
    return [...found].map(([object, fields]) => [object, [...fields]])
  }

  /** The values of an attribute (`id`) that some object compares with the caller's; undefined if there are too many. */
  valuesNamed(attribute: string): readonly Scalar[] | undefined {
    return this.#naming && [...(this.#naming.get(attribute)?.keys() ?? [])]
  }

  /** The relations without parts that lead to an object which names some caller. */
  get leading(): readonly Relation[] {
    const objects = [...(this.#naming?.values() ?? [])].flatMap((byValue) => [...byValue.values()].flat())
    return [...new Set(objects.map(({ object }) => object.leaf))]
  }
}

type ObjectsRead = ReadonlyMap<string, ReadonlyMap<unknown, Representation>>

interface AlikeParts {
  /** By resource and id: the objects on which relations rest. */
  readonly read: ObjectsRead
  readonly compared: readonly Relation[]
  readonly attributes: readonly string[]
  /** As it is stored; undefined without an object. */
  readonly object: Representation | undefined
  readonly naming: ReadonlyMap<string, ReadonlyMap<Scalar, readonly CallerMention[]>> | undefined
}

interface AlikeQuestion {
  readonly snapshot: Snapshot
  readonly resource: Resource
  /** The actions whose rules decide, besides `read`. */
  readonly asked: readonly string[]
  readonly object: Representation | undefined
  readonly find: FindObjects
}

/** Throws what `find` throws. */
export async function callersAlike({ snapshot, resource, asked, object, find }: AlikeQuestion): Promise<CallersAlike> {
  const actions = [...asked, 'read'].filter((name) => resource.actions.has(name))
  const tables = await Promise.all(actions.map((name) => snapshot.table(snapshot.anybody, resource.name, name)))
  const compared = [...new Set(tables.flatMap((table) => table.compared))]
  const attributes = [...new Set(tables.flatMap((table) => table.attributes))]
  const naming = new Map<string, Map<Scalar, CallerMention[]>>()
  const read = new Map<string, Map<unknown, Representation>>()
  const about = { compared, attributes, object, read }
  if (!object) return new CallersAlike({ ...about, naming })
  const path = [`${resource.name}/${String(object.id)}`]
  const leaves = [...new Set(compared.flatMap(leavesOf))]
  const isWhole = await collect({ naming, read, find }, leaves, { object, path, place: '' })
  return new CallersAlike({ ...about, naming: isWhole ? naming : undefined })
}

interface MetObject {
  readonly object: Representation
  readonly path: readonly string[]
  readonly place: string
  /** Of the question's object; absent for that object itself. */
  readonly leaf?: Relation
}

interface Collected {
  readonly read: Map<string, Map<unknown, Representation>>
  readonly naming: Map<string, Map<Scalar, CallerMention[]>>
  readonly find: FindObjects
}

/** Whether all objects were read. */
async function collect(to: Collected, leaves: readonly Relation[], met: MetObject): Promise<boolean> {
  noteNaming(to, leaves, met)
  for (const leaf of leaves.filter(stepOf)) {
    const reached = await objectsReached(to.find, leaf, met.object)
    if (!reached) return false
    for (const object of reached.objects) {
      to.read.getOrInsertComputed(reached.resource, () => new Map()).set(object.id, object)
      const path = [...met.path, `${reached.resource}/${String(object.id)}`]
      const place = `${met.place}/${leaf.name}:${reached.placeOf(object)}`
      if (!(await collect(to, reached.leaves, { object, path, place, leaf: met.leaf ?? leaf }))) return false
    }
  }
  return true
}

/** Notes the values of this object that relations compare with the caller's. */
function noteNaming(
  { naming }: Collected,
  leaves: readonly Relation[],
  { object, path, place, leaf: from }: MetObject,
): void {
  const here = new Map<Relation, NamingObject>()
  for (const one of leaves) {
    const { field, attribute } = kindOf(one).equates?.(one) ?? {}
    if (field === undefined || attribute === undefined) continue
    const leaf = from ?? one
    const found = { object: here.getOrInsertComputed(leaf, () => ({ leaf, path, place })), field }
    const byValue = naming.getOrInsertComputed(attribute, () => new Map())
    for (const value of fieldValues(object, field).filter(isComparable))
      byValue.getOrInsertComputed(value, () => []).push(found)
  }
}

interface Reached {
  readonly resource: string
  /** What is asked of each of the objects. */
  readonly leaves: readonly Relation[]
  readonly objects: readonly Representation[]
  readonly placeOf: (object: Representation) => string
}

async function objectsReached(find: FindObjects, leaf: Relation, from: Representation): Promise<Reached | undefined> {
  const { resource, by, relation, depth = 1 } = stepOf(leaf) as NonNullable<ReturnType<typeof stepOf>>
  const [field = 'id'] = comparedFields(leaf)
  const objects = new Map<unknown, Representation>()
  let last = [from]
  for (let step = 0; step < depth && last.length > 0; step += 1) {
    const values = [...new Set(last.flatMap((one) => fieldValues(one, field)).filter(isComparable))]
    const found = values.length === 0 ? [] : await find(resource, by, values)
    if (!found) return undefined
    last = found.filter(({ id }) => !objects.has(id))
    for (const one of last) objects.set(one.id, one)
  }
  const leaves = leavesOf(relation)
  const states = leaves.filter((one) => !kindOf(one).equates).flatMap(comparedFields)
  // An object that leads further is like no other.
  const isLast = !leaves.some(stepOf)
  const placeOf = (one: Representation) => JSON.stringify(isLast ? states.map((name) => one[name] ?? null) : one.id)
  return { resource, leaves, objects: [...objects.values()], placeOf }
}
