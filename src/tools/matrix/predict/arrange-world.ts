/** The caller's attributes and the objects of a cell, in memory; remembered for cells that mean the same. */
import type { Policy } from '../../../decide/policy.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import type { Json, Representation, Resource, Resources, Route } from '../../../resources/resource.ts'
import { arrangeList, toldApartBy } from '../arrange/arrange-list.ts'
import { arrangeRelated } from '../arrange/arrange-related.ts'
import { arrangeCreated, arrangeResult } from '../arrange/arrange-result.ts'
import { idSeries } from '../arrange/related-objects.ts'
import { CALLER, OBJECT, type SamplesOf } from '../arrange/values/samples.ts'
import type { Attributes, NotFound, PlacedObject, WantedPair } from '../arrange/wanted-object.ts'
import type { Expectation, MatrixColumn } from '../read/expectation.ts'
import type { Objects } from './memory-store.ts'

export interface Parts {
  readonly resources: Resources
  readonly samples: SamplesOf
  /** The content of a body file; undefined where there is no such file. */
  readonly bodyOf: (file: string) => Readonly<Record<string, Json>> | undefined
  /** The time of the requests, in milliseconds since the epoch. */
  readonly now: number
}

/** A request as a matrix writes it, without what is expected of it. */
export interface Cell extends Pick<Expectation, 'method' | 'path' | 'object' | 'column' | 'when' | 'becomes' | 'body'> {
  /** Used instead of a file. */
  readonly content?: Readonly<Record<string, Json>>
  /** Asked without `If-Match`, whatever the route requires. */
  readonly unconditional?: boolean
  /** Relations that decide which objects a list holds, beside those that rules about the list name. */
  readonly apart?: readonly string[]
}

/** By all that they depend on: the smallest bodies, the objects of cells, and the facts of requests. */
export interface Found {
  readonly bodies: Map<string, Representation>
  readonly worlds: Map<string, World | NotFound>
  readonly requests: Map<string, ConditionFacts | undefined>
}

export function nothingFound(): Found {
  return { bodies: new Map(), worlds: new Map(), requests: new Map() }
}

export function remembered<T>(known: Map<string, T>, key: readonly unknown[], find: () => T): T {
  const text = JSON.stringify(key)
  if (known.has(text)) return known.get(text) as T
  const value = find()
  known.set(text, value)
  return value
}

export interface About {
  readonly policy: Policy
  readonly cell: Cell
  readonly route: Route
  readonly resource: Resource
}

export interface World {
  readonly kind: 'world'
  readonly attributes: Attributes
  /** Of the object that the path names; undefined if there is none. */
  readonly id?: string
  readonly objects: Objects
  /** Made so that the object becomes what the cell says. */
  readonly body?: Representation
}

const EMPTY: World = { kind: 'world', attributes: {}, objects: new Map() }

export function arrangeWorld(parts: Parts & { readonly found: Found }, about: About): World | NotFound {
  const { cell, route, resource } = about
  if (route.kind === 'collection') {
    if (cell.object.kind !== 'none') return impossible('a collection is asked about with the object `none`')
  } else if (cell.object.kind === 'none') return impossible('this path names an object')
  if (cell.object.kind === 'missing') return EMPTY
  const common = relatingOf({ ...parts, newId: idSeries(OBJECT) }, { ...about, column: cell.column })
  if (!common || resource.builtIn)
    return route.kind === 'collection' ? EMPTY : impossible(`${resource.name} has no objects`)
  const names = cell.object.kind === 'relations' ? cell.object.names : []
  const apart = hasList(about) ? apartIn(about) : undefined
  const key = [
    resource.name,
    common.callerId,
    route.kind,
    apart,
    names,
    cell.becomes ? [cell.method, cell.becomes] : [],
    parts.now,
  ]
  return remembered(parts.found.worlds, key, () => {
    if (route.kind !== 'collection') return stored(common, about, new Set(names))
    return apart ? listed(common, apart) : created(common, about)
  })
}

function stored(common: Common, { route, cell }: About, relations: ReadonlySet<string>): World | NotFound {
  const pair = { ...common, relations, own: route.kind === 'caller', id: OBJECT }
  const found = arrangeRelated(pair)
  if (found.kind !== 'related') return found
  const { attributes, object, others } = found
  const placed = [{ resource: common.resource.name, object }, ...others]
  const world: World = { kind: 'world', attributes, id: String(object.id), objects: objectsOf(placed) }
  if (!cell.becomes) return world
  const result = arrangeResult(pair, found, { becomes: new Set(cell.becomes), method: cell.method })
  return result.kind === 'result'
    ? { ...world, body: result.body, objects: objectsOf([...placed, ...result.others]) }
    : result
}

function created(common: Common, { cell }: About): World | NotFound {
  if (!cell.becomes) return EMPTY
  const found = arrangeCreated({ ...common, relations: new Set(cell.becomes), own: false, id: OBJECT })
  if (found.kind !== 'result') return found
  return { kind: 'world', attributes: found.attributes, objects: objectsOf(found.others), body: found.body }
}

/** One object for each way in which the caller can relate to one. */
function listed(common: Common, apart: readonly string[]): World {
  const { attributes, placed } = arrangeList(common, apart, nthObject)
  const { name } = common.resource
  return {
    kind: 'world',
    attributes,
    objects: objectsOf(placed.flatMap(({ object, others }) => [{ resource: name, object }, ...others])),
  }
}

function objectsOf(placed: readonly PlacedObject[]): Objects {
  const byResource = Map.groupBy(placed, ({ resource }) => resource)
  const byId = (some: readonly PlacedObject[]) => new Map(some.map(({ object }) => [String(object.id), object]))
  return new Map([...byResource].map(([resource, some]) => [resource, byId(some)]))
}

function apartIn({ policy, route, resource, cell: { method, apart = [] } }: About): readonly string[] {
  const endpoint = route.endpoints.get(method)
  const action = endpoint && resource.actions.get(endpoint.action)
  const named = action ? toldApartBy(policy, { resource, action }) : []
  return [...new Set([...named, ...apart])].sort()
}

/** A separate id for each number, in the form of the server's ids. */
function nthObject(i: number): string {
  return `${OBJECT.slice(0, -4)}${(i + 16).toString(16).padStart(4, '0')}`
}

export function hasList({ route, cell }: Pick<About, 'route' | 'cell'>): boolean {
  return route.endpoints.get(cell.method)?.operation === 'list'
}

/** The data to relate a caller of the column to objects of the resource; undefined for a resource without objects. */
export function relatingOf(
  {
    resources,
    samples: samplesOf,
    now,
    newId,
  }: Pick<Parts, 'resources' | 'samples' | 'now'> & Pick<WantedPair, 'newId'>,
  { policy, resource, column }: Pick<About, 'policy' | 'resource'> & { readonly column: MatrixColumn },
): Common | undefined {
  const samples = samplesOf.get(resource.name)
  const ownership = policy.ownership.get(resource.name)
  const callerId = column.kind === 'anonymous' ? undefined : column.kind === 'user' ? column.id : CALLER
  return samples && { resources, samplesOf, resource, samples, ownership, callerId, now, newId }
}

export type Common = Omit<WantedPair, 'relations' | 'own' | 'id'>

export function impossible(why: string): NotFound {
  return { kind: 'impossible', why }
}
