/**
 * Keeps references true (`x-reference`): a write refers only to objects that its caller may read, and a delete leaves no
 * object that refers to a deleted one. The store asks again, in the transaction of the write.
 */
import { pointerOfPath } from '../../base/json-pointer.ts'
import { Problem } from '../../base/problems/problem.ts'
import { callerKey } from '../../decide/caller.ts'
import type { Condition, Lookup } from '../../decide/conditions/condition.ts'
import { decide } from '../../decide/decide.ts'
import { objectRoute } from '../../decide/object-routes.ts'
import { permitUnset } from '../../decide/permits/issue-permits.ts'
import { type AlongPermit, type Permit, restingOn } from '../../decide/permits/permit.ts'
import { referencesAsked, type WrittenReferences } from '../../decide/permits/references.ts'
import { isRefusal } from '../../decide/refusal.ts'
import { represent, type StoredObject } from '../../resources/object.ts'
import { type ReferringField, referringTo } from '../../resources/references.ts'
import type { Resource } from '../../resources/resource.ts'
import { StaleObject } from '../../store/errors.ts'
import type { HandledRequest, Services, WrittenAlong } from './handler.ts'

/** Objects that one delete may change or delete beside its own. */
const MOST_ALONG = 1000

/** The permit, which rests on the objects that the write refers to. Throws Problem reference-missing. `at`: of the fields. */
export async function withReferences<P extends Permit<'create'> | Permit<'update'>>(
  services: Services,
  request: HandledRequest,
  permit: P,
  before?: WrittenReferences['before'],
  at = '',
): Promise<P> {
  const { resource, resources, asked, snapshot, ask } = request
  const found = await ask(referencesAsked(asked(), snapshot, { resource, resources, permit, before }))
  const missing: string[] = []
  for (const { field, lookup } of found) if (!lookup || !(await holds(services, request, lookup))) missing.push(field)
  if (missing.length > 0) throw referenceMissing(missing, at)
  return found.reduce((one, { lookup, caller }) => {
    return lookup ? restingOn(one, { lookups: [{ lookup, holds: true }], caller }) : one
  }, permit)
}

function referenceMissing(fields: readonly string[], at: string): Problem {
  const detail = 'names no object that this caller may read'
  const errors = fields.map((field) => ({ pointer: `${at}${pointerOfPath([field])}`, detail, code: 'reference' }))
  return new Problem('reference-missing', 'The fields in `errors` name objects that there are not; correct them.', {
    errors,
  })
}

function holds(
  { store }: Pick<Services, 'store'>,
  { caller, address }: Pick<HandledRequest, 'caller' | 'address'>,
  lookup: Lookup,
): boolean | Promise<boolean> {
  return store.lookup(lookup, callerKey({ caller, address }))
}

/** A delete, and what comes along with it. */
export interface WholeDelete {
  readonly permit: Permit<'delete'>
  readonly along?: WrittenAlong
}

/** Throws Problem referenced, and StaleObject if another object came to refer to one that goes. */
export async function withReferring(
  services: Services,
  request: HandledRequest,
  permit: Permit<'delete'>,
): Promise<WholeDelete> {
  if (referringTo(request.resources, permit.resource).length === 0) return { permit }
  const going = new Going(services, request)
  await going.add(request.resource, permit.id, permit)
  const along = going.along()
  let resting = permit
  for (const { lookup, reference } of going.left()) {
    if (await holds(services, request, lookup))
      throw reference.onDelete === 'restrict' ? referenced() : new StaleObject()
    resting = restingOn(resting, { lookups: [{ lookup, holds: false }], caller: undefined })
  }
  return along.length === 0 ? { permit: resting } : { permit: resting, along: { permits: along, told: toldOf(along) } }
}

function toldOf(along: readonly AlongPermit[]): WrittenAlong['told'] {
  const written = (kind: AlongPermit['kind']) =>
    along.filter((one) => one.kind === kind).map(({ resource, id }) => ({ resource, objectId: id }))
  return { changed: written('update'), deleted: written('delete') }
}

function referenced(why = 'Other objects refer to this one; delete or change them first.'): Problem {
  return new Problem('referenced', why)
}

/** Rules at the root of a schema may need a field that is taken away. Throws Problem referenced. */
function fitting(resource: Resource, object: StoredObject, unset: Permit<'update'>): Permit<'update'> {
  const faultsOf = (document: StoredObject['document']) => resource.validate(represent({ ...object, document }))
  if (faultsOf(unset.document).length === 0 || faultsOf(object.document).length > 0) return unset
  throw referenced('An object that refers to this one does not fit its schema without it; change it first.')
}

interface GoingObjects {
  readonly resource: Resource
  /** By id; the first one is the object of the request. */
  readonly permits: Map<string, Permit<'delete'>>
}

type GoingIds = ReadonlyMap<Resource, ReadonlySet<string>>

interface Unset {
  readonly object: StoredObject
  readonly fields: Set<string>
}

function keyOf(resource: Resource, id: string): string {
  return `${resource.name}/${id}`
}

/** All objects that a delete takes with it, and those whose references it takes away. */
class Going {
  readonly #services: Services
  readonly #request: HandledRequest
  readonly #gone = new Map<string, GoingObjects>()
  readonly #unset = new Map<Resource, Map<string, Unset>>()
  /** The objects that refer to one that goes, and that one: an object may do so by several fields. */
  readonly #touched = new Set<string>()

  constructor(services: Services, request: HandledRequest) {
    this.#services = services
    this.#request = request
  }

  /** Breadth first: a long chain needs no long stack, and what refers to many objects is found at once. */
  async add(resource: Resource, id: string, permit: Permit<'delete'>): Promise<void> {
    this.#permitsOf(resource).set(id, permit)
    this.#touched.add(keyOf(resource, id))
    let going: GoingIds = new Map([[resource, new Set([id])]])
    while (going.size > 0) going = await this.#follow(going)
  }

  /** What goes with these objects, and hadn't gone yet. */
  async #follow(going: GoingIds): Promise<GoingIds> {
    const found = new Map<Resource, Set<string>>()
    for (const [target, ids] of going) {
      const referring = referringTo(this.#request.resources, target.name)
      for (const one of referring.filter(({ reference }) => reference.onDelete !== 'restrict')) {
        for (const object of await this.#referring(one, ids)) {
          if (one.reference.onDelete === 'null') this.#take(one, object)
          else if (await this.#delete(one.resource, object))
            found.getOrInsertComputed(one.resource, () => new Set()).add(object.id)
        }
      }
    }
    return found
  }

  /** Without the object of the request. An object that goes keeps what it refers to. */
  along(): readonly AlongPermit[] {
    const gone = [...this.#gone.values()].flatMap(({ permits }) => [...permits.values()]).slice(1)
    const changed = [...this.#unset].flatMap(([resource, some]) =>
      [...some.values()]
        .filter(({ object }) => !this.#gone.get(resource.name)?.permits.has(object.id))
        .map(({ object, fields }) => fitting(resource, object, permitUnset(resource, object, fields))),
    )
    return [...changed, ...gone]
  }

  /** For each reference to an object that goes, whether another one has it: then the delete can't be. */
  *left(): Generator<{ readonly lookup: Lookup; readonly reference: ReferringField['reference'] }> {
    for (const [name, { permits }] of this.#gone) {
      for (const { resource, field, reference } of referringTo(this.#request.resources, name)) {
        const going = [...(this.#gone.get(resource.name)?.permits.keys() ?? [])]
        const unset = reference.onDelete === 'null' ? [...(this.#unset.get(resource)?.keys() ?? [])] : []
        const handled = [...new Set([...going, ...unset])]
        const where: Condition =
          handled.length === 0
            ? { kind: 'always' }
            : { kind: 'not', of: { kind: 'holds', field: 'id', values: handled } }
        yield { lookup: { resource: resource.name, by: field, values: [...permits.keys()], where }, reference }
      }
    }
  }

  async #referring({ resource, field }: ReferringField, ids: ReadonlySet<string>): Promise<readonly StoredObject[]> {
    const { store } = this.#services
    const { caller, address, gone } = this.#request
    // With the object of the request, which may refer to itself, and one more.
    const query = { where: { kind: 'holds', field, values: [...ids] }, limit: MOST_ALONG + 2 } as const
    const listed = await store.list(resource.name, query, { whose: callerKey({ caller, address }), gone })
    for (const one of listed) this.#touched.add(keyOf(resource, one.id))
    if (this.#touched.size > MOST_ALONG + 1)
      throw referenced(`More than ${MOST_ALONG} objects refer to this one; delete some first.`)
    const objects = await Promise.all(listed.map((one) => store.get(resource.name, one.id)))
    // Meanwhile, an object may be gone, or may refer to another one: then it isn't this delete's any more.
    const named: ReadonlySet<unknown> = ids
    return objects.filter((one) => one !== undefined).filter(({ document }) => named.has(document[field]))
  }

  #take({ resource, field }: ReferringField, object: StoredObject): void {
    const some = this.#unset.getOrInsertComputed(resource, () => new Map())
    some.getOrInsertComputed(object.id, () => ({ object, fields: new Set() })).fields.add(field)
  }

  /** Whether it is new. The caller must be allowed to delete each. */
  async #delete(resource: Resource, object: StoredObject): Promise<boolean> {
    const permits = this.#permitsOf(resource)
    if (permits.has(object.id)) return false
    const { asked, snapshot, ask } = this.#request
    const by = asked()
    const question = { ...by, ...objectRoute(resource, 'delete', by.now), resource, id: object.id }
    const decision = await ask(decide(question, snapshot))
    if (isRefusal(decision)) {
      if (decision.check === 'missing') throw new StaleObject()
      throw referenced('Other objects refer to this one, and this caller may not delete them all.')
    }
    if (decision.kind !== 'delete') throw new Error(`the delete of an object was decided as ${decision.kind}`)
    if (decision.object.version !== object.version) throw new StaleObject()
    permits.set(object.id, decision.permit())
    return true
  }

  #permitsOf(resource: Resource): Map<string, Permit<'delete'>> {
    return this.#gone.getOrInsertComputed(resource.name, () => ({ resource, permits: new Map() })).permits
  }
}
