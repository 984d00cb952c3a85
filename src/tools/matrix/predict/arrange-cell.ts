/** Sets a cell up in memory, as the runner does in a store: the caller, objects that relate as stated, the request. */

import type { Caller } from '../../../decide/caller.ts'
import type { Policy } from '../../../decide/policy.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Json, Representation, Resource, Resources, Route } from '../../../resources/resource.ts'
import { arrangeList } from '../arrange/arrange-list.ts'
import type { Attributes, NotFound } from '../arrange/arrange-object.ts'
import { arrangeRelated, type WantedPair } from '../arrange/arrange-related.ts'
import { idSeries, type PlacedObject } from '../arrange/related-objects.ts'
import { CALLER, lackingValue, OBJECT, type SamplesOf } from '../arrange/samples.ts'
import { withUniqueValues } from '../arrange/unique-values.ts'
import { callerIn, type Expectation, type MatrixColumn } from '../read/expectation.ts'
import type { Objects, PredictedRequest } from './answer.ts'

export interface Parts {
  readonly resources: Resources
  readonly samples: SamplesOf
  /** The content of a body file; undefined where there is no such file. */
  readonly bodyOf: (file: string) => Readonly<Record<string, Json>> | undefined
  /** The time of the requests, in milliseconds since the epoch. */
  readonly now: number
}

const WITH_BODY: readonly string[] = ['POST', 'PUT', 'PATCH']
const MISSING = '01980000-0000-7000-8000-00000000000b'

/** Reuses an earlier setup for the same relations. */
export function createArrange(files: Parts): Arrange {
  const known = new WeakMap<Policy['ownership'], Remembering>()
  const routes = new Map(files.resources.routes.map((route) => [route.path, route]))
  const callers = new WeakMap<MatrixColumn, WeakMap<Attributes, Caller>>()
  return (policy, cell) => {
    const parts = known.get(policy.ownership) ?? {
      ...files,
      routes,
      callers,
      found: { bodies: new Map(), stored: new Map(), listed: new Map() },
    }
    known.set(policy.ownership, parts)
    return arrangeCell(parts, policy, cell)
  }
}

/** The smallest bodies, by resource, and the objects of cells, by all that they depend on. */
interface Found {
  readonly bodies: Map<string, Representation>
  readonly stored: Map<string, Stored | NotFound>
  readonly listed: Map<string, Listed>
}

interface Remembering extends Parts {
  readonly found: Found
  /** By path. */
  readonly routes: ReadonlyMap<string, Route>
  /** Reuses caller objects, because a policy remembers the subjects of each caller object. */
  readonly callers: WeakMap<MatrixColumn, WeakMap<Attributes, Caller>>
}

function remembered<T>(known: Map<string, T>, key: readonly unknown[], find: () => T): T {
  const text = JSON.stringify(key)
  const value = known.get(text) ?? find()
  known.set(text, value)
  return value
}

function arrangeCell(parts: Remembering, policy: Pick<Policy, 'ownership'>, cell: Cell): Arranged {
  const route = parts.routes.get(cell.path)
  const resource = route && parts.resources.byName.get(route.resource)
  if (!route || !resource) return impossible(`no route has the path \`${cell.path}\``)
  return arrangeOn(parts, { policy, cell, route, resource })
}

interface About {
  readonly policy: Pick<Policy, 'ownership'>
  readonly cell: Cell
  readonly route: Route
  readonly resource: Resource
}

function arrangeOn(parts: Remembering, about: About): Arranged {
  const { cell, route, resource } = about
  const lacking = lackOf(parts, about)
  if (lacking !== undefined) return { kind: 'unarranged', why: lacking }
  const body = bodyFor(parts, about)
  if (body === undefined && cell.body !== undefined) return impossible(`there is no body file \`${cell.body}\``)
  if (route.kind === 'collection') {
    if (cell.object.kind !== 'none') return impossible('a collection is asked about with the object `none`')
    const { attributes, placed } = listed(parts, about)
    const caller = callerOf(parts, cell.column, attributes)
    return { kind: 'arranged', request: { caller, id: undefined, body, objects: storeOf(placed) } }
  }
  if (cell.object.kind === 'none') return impossible('this path names an object')
  const found = cell.object.kind === 'missing' ? NOTHING : stored(parts, about)
  if (found.kind !== 'related') return found
  const { attributes, object, others } = found
  const id = object ? String(object.id) : MISSING
  const objects = storeOf([...(object ? [{ resource: resource.name, object }] : []), ...others])
  const caller = callerOf(parts, cell.column, attributes)
  return { kind: 'arranged', request: { caller, id: route.kind === 'item' ? id : undefined, body, objects } }
}

function callerOf({ callers }: Remembering, column: MatrixColumn, attributes: Attributes): Caller | undefined {
  const known = callers.get(column) ?? new WeakMap<Attributes, Caller>()
  const caller = known.get(attributes) ?? callerIn(column, CALLER, attributes)
  if (caller) callers.set(column, known.set(attributes, caller))
  return caller
}

/** Undefined for a request that needs no values: no object is made for it, and it sends no body of the schema. */
function lackOf({ samples }: Parts, about: About): string | undefined {
  const { cell, resource } = about
  const known = samples.get(resource.name)
  const sends = WITH_BODY.includes(cell.method) && cell.content === undefined && cell.body === undefined
  const needsObject = cell.object.kind === 'other' || cell.object.kind === 'relations' || hasList(about)
  return known && (sends || needsObject) ? lackingValue(resource.name, known) : undefined
}

interface Stored {
  readonly kind: 'related'
  readonly attributes: Attributes
  readonly object: Representation | undefined
  readonly others: readonly PlacedObject[]
}

const NOTHING: Stored = { kind: 'related', attributes: {}, object: undefined, others: [] }

function stored(parts: Remembering, about: About): Stored | NotFound {
  const { object } = about.cell
  const common = relatingOf(withIds(parts), { ...about, column: about.cell.column })
  if (!common) return impossible(`${about.resource.name} has no objects`)
  const relations = new Set(object.kind === 'relations' ? object.names : [])
  const own = about.route.kind === 'caller'
  return remembered(parts.found.stored, [about.resource.name, common.callerId, own, ...relations], () =>
    arrangeRelated({ ...common, relations, own, id: OBJECT }),
  )
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

/** The same ids for each cell. */
function withIds(parts: Parts): Parts & Pick<WantedPair, 'newId'> {
  return { ...parts, newId: idSeries(OBJECT) }
}

export type Common = Omit<WantedPair, 'relations' | 'own' | 'id'>

interface Listed {
  readonly attributes: Attributes
  readonly placed: readonly PlacedObject[]
}

/** One object for each way in which the caller can relate to one. */
function listed(parts: Remembering, about: About): Listed {
  const { cell, resource } = about
  const common = relatingOf(withIds(parts), { ...about, column: cell.column })
  if (!common || resource.builtIn || !hasList(about)) return { attributes: NOTHING.attributes, placed: [] }
  return remembered(parts.found.listed, [resource.name, common.callerId], () => {
    const { attributes, placed } = arrangeList(common, nthObject)
    return {
      attributes,
      placed: placed.flatMap(({ object, others }) => [{ resource: resource.name, object }, ...others]),
    }
  })
}

/** A separate id for each number, in the form of the server's ids. */
function nthObject(i: number): string {
  return `${OBJECT.slice(0, -4)}${(i + 16).toString(16).padStart(4, '0')}`
}

function hasList({ route, cell }: About): boolean {
  return route.endpoints.get(cell.method)?.operation === 'list'
}

function storeOf(placed: readonly PlacedObject[]): Objects {
  const byResource = Map.groupBy(placed, ({ resource }) => resource)
  const byId = (some: readonly PlacedObject[]) => new Map(some.map(({ object }) => [String(object.id), object]))
  return new Map([...byResource].map(([resource, some]) => [resource, byId(some)]))
}

function bodyFor(parts: Remembering, about: About): Readonly<Record<string, Json>> | undefined {
  const { cell, resource } = about
  if (!WITH_BODY.includes(cell.method)) return undefined
  if (cell.content !== undefined) return cell.content
  if (cell.body !== undefined) return parts.bodyOf(cell.body)
  return remembered(parts.found.bodies, [resource.name], () => smallestBody(parts, about))
}

/** Without the owner, which the server fills in; with new values in unique fields. */
export function smallestBody(
  { samples }: Pick<Parts, 'samples'>,
  { policy, resource }: Pick<About, 'policy' | 'resource'>,
): Representation {
  const smallest = samples.get(resource.name)?.smallest ?? {}
  const owner = ownerFieldOf(resource, policy.ownership.get(resource.name))
  const named = Object.entries(smallest).filter(([name]) => name !== owner?.name)
  return withUniqueValues(resource, Object.fromEntries(named), new Set())
}

function impossible(why: string): NotFound {
  return { kind: 'impossible', why }
}

/** A request as a matrix writes it, without what is expected of it. */
export interface Cell extends Pick<Expectation, 'method' | 'path' | 'object' | 'column' | 'body'> {
  /** Used instead of a file. */
  readonly content?: Readonly<Record<string, Json>>
  /** Asked without `If-Match`, whatever the route requires. */
  readonly unconditional?: boolean
}

export type ArrangedRequest = Pick<PredictedRequest, 'caller' | 'id' | 'body' | 'objects'>

type Arranged =
  | { readonly kind: 'arranged'; readonly request: ArrangedRequest }
  /** No such object can exist, or none was found. */
  | { readonly kind: 'impossible' | 'unarranged'; readonly why: string }

/** Sets up a cell as a policy's relations mean it. */
export type Arrange = (policy: Pick<Policy, 'ownership'>, cell: Cell) => Arranged
