/**
 * Sets a cell up in memory, as the runner does in a store: the caller, objects that relate as stated, the request.
 * Remembered for cells that mean the same.
 */

import { LRUCache } from 'lru-cache'
import { v7 as uuidv7 } from 'uuid'
import type { Caller } from '../../../decide/caller.ts'
import type { Policy } from '../../../decide/policy.ts'
import { ownerFieldOf, relationsText } from '../../../decide/relations/ownership.ts'
import { meaningOfCondition } from '../../../decide/request-conditions/all-conditions.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import { namesText } from '../../../present/quote.ts'
import type { Json, Representation, Resource, Resources, Route } from '../../../resources/resource.ts'
import { followedFixture, listFixture, listingRelations } from '../fixture/list-fixture.ts'
import { createdFixture, relatedFixture, resultFixture } from '../fixture/related-fixture.ts'
import { actionsAbout, conditionsAbout, requestFixture } from '../fixture/request-fixture.ts'
import { CALLER, idSeries, lackingValue, OBJECT, type SamplesOf, withUniqueValues } from '../fixture/samples.ts'
import type { Attributes, Common, NotFound, WantedPair, World } from '../fixture/wanted-object.ts'
import { callerIn, columnText, type Expectation, heldIn, type MatrixColumn } from '../read/expectation.ts'
import { objectsOf } from './memory-store.ts'
import type { PredictedRequest } from './predict.ts'

const WITH_BODY: readonly string[] = ['POST', 'PUT', 'PATCH']
const MISSING = '01980000-0000-7000-8000-00000000000b'

/** Of the relations of one resource; each mistake in a relation is another one, and isn't asked for again. */
const MOST_MEANINGS = 100

/** Reuses an earlier setup for relations with the same meanings. */
export function createFixtures(files: FixtureParts): FixtureOf {
  const known = new LRUCache<string, Remembering>({ max: MOST_MEANINGS })
  const routes = new Map(files.resources.routes.map((route) => [route.path, route]))
  const callers = new Map<string, Caller | undefined>()
  return (policy, cell) => {
    const route = routes.get(cell.path)
    const resource = route && files.resources.byName.get(route.resource)
    if (!route || !resource) return impossible(`no route has the path \`${cell.path}\``)
    const meaning = relationsText(resource, policy.ownership.get(resource.name))
    const parts = known.get(meaning) ?? { ...files, callers, bodies: new Map(), worlds: new Map(), requests: new Map() }
    known.set(meaning, parts)
    return fixtureOn(parts, { policy, cell, route, resource })
  }
}

/** By all that they depend on: the smallest bodies, the objects of cells, and the facts of requests. */
interface Remembering extends FixtureParts {
  readonly bodies: Map<string, Representation>
  readonly worlds: Map<string, World | NotFound>
  readonly requests: Map<string, ConditionFacts | undefined>
  /** Reuses caller objects, because a policy remembers the subjects of each caller object. */
  readonly callers: Map<string, Caller | undefined>
}

function fixtureOn(parts: Remembering, about: CellOfRoute): CellFixture {
  const { cell, route } = about
  if (route.command && cell.becomes) return impossible('the command decides what the object becomes')
  const lacking = lackOf(parts, about)
  if (lacking !== undefined) return { kind: 'unsolved', why: lacking }
  const met = requestFor(parts, about)
  if (met.kind !== 'facts') return met
  const { facts } = met
  const body = bodyFor(parts, about)
  if (body === undefined && cell.body !== undefined) return impossible(`there is no body file \`${cell.body}\``)
  const world = worldFixture({ ...parts, now: facts.now }, about)
  if (world.kind !== 'world') return world
  const caller = callerOf(parts, cell.column, world.attributes, facts)
  const id = route.kind === 'item' ? (world.id ?? MISSING) : cell.event && world.id
  return { kind: 'solved', request: { caller, id, body: world.body ?? body, objects: objectsOf(world.placed), facts } }
}

function callerOf(
  { callers }: Remembering,
  column: MatrixColumn,
  attributes: Attributes,
  { credential, authTime, acr }: ConditionFacts,
): Caller | undefined {
  return remembered(callers, [columnText(column), attributes, credential, authTime, acr], () => {
    const caller = callerIn(column, CALLER, attributes)
    return caller && { ...caller, ...credentialOf({ credential, authTime, acr }) }
  })
}

/** How a caller signed in, as the server finds it. */
export function credentialOf({ credential, authTime, acr }: Omit<ConditionFacts, 'now' | 'hasCredentials'>) {
  // As decision records name a credential of each kind; a password is the usual one.
  const names: Readonly<Record<string, string>> = { 'api-key': 'key 1', provider: 'provider' }
  return { authTime, acr, credential: names[credential ?? ''] }
}

/** A request that meets exactly the wanted conditions, of those that rules about it name. */
function requestFor({ now, requests }: Remembering, { policy, cell, route, resource }: CellOfRoute) {
  const wanted = new Set(cell.when)
  const hasCredentials = cell.column.kind !== 'anonymous'
  if (policy.conditions.size === 0 && wanted.size === 0)
    return { kind: 'facts', facts: { now, hasCredentials } } as const
  const about = conditionsAbout(policy, resource, route.endpoints.get(cell.method))
  const named = [...new Set([...about, ...wanted])]
  const conditions = named.flatMap((name) => policy.conditions.get(name) ?? [])
  const key = [conditions.map((one) => [one.name, meaningOfCondition(one)]), hasCredentials, [...wanted]]
  const facts = remembered(requests, key, () =>
    conditions.length === named.length ? requestFixture(conditions, wanted, { now, hasCredentials }) : undefined,
  )
  if (!facts) return impossible(`no request meets ${namesText(wanted) || 'no condition'}, and no other condition`)
  return { kind: 'facts', facts } as const
}

/** Undefined for a request that needs no values: no object is made for it, and it sends no body of the schema. */
function lackOf({ samples }: FixtureParts, about: CellOfRoute): string | undefined {
  const { cell, resource } = about
  const known = samples.get(resource.name)
  const sends = WITH_BODY.includes(cell.method) && cell.content === undefined && cell.body === undefined
  const needsObject = cell.object.kind === 'other' || cell.object.kind === 'relations' || hasList(about) || cell.event
  return known && (sends || needsObject) ? lackingValue(resource.name, known) : undefined
}

function bodyFor(parts: Remembering, about: CellOfRoute): Readonly<Record<string, Json>> | undefined {
  const { cell, resource } = about
  if (!WITH_BODY.includes(cell.method) && cell.event !== 'changed') return undefined
  if (cell.content !== undefined) return cell.content
  if (cell.body !== undefined) return parts.bodyOf(cell.body)
  if (about.route.command) return {}
  if (cell.event) return undefined
  return remembered(parts.bodies, [resource.name], () => smallestBody(parts, about))
}

/** Without the owner, which the server fills in; with new values in unique fields. */
export function smallestBody(
  { samples }: Pick<FixtureParts, 'samples'>,
  { policy, resource }: Pick<CellOfRoute, 'policy' | 'resource'>,
): Representation {
  const smallest = samples.get(resource.name)?.smallest ?? {}
  const owner = ownerFieldOf(resource, policy.ownership.get(resource.name))
  const named = Object.entries(smallest).filter(([name]) => name !== owner?.name)
  return withUniqueValues(resource, Object.fromEntries(named), new Set())
}

export type FixtureRequest = Pick<PredictedRequest, 'caller' | 'id' | 'body' | 'objects' | 'facts'>

type CellFixture =
  | { readonly kind: 'solved'; readonly request: FixtureRequest }
  /** No such object can exist, or none was found. */
  | { readonly kind: 'impossible' | 'unsolved'; readonly why: string }

/** Sets up a cell as a policy's relations and conditions mean it. */
export type FixtureOf = (policy: Policy, cell: Cell) => CellFixture

export interface FixtureParts {
  readonly resources: Resources
  readonly samples: SamplesOf
  /** The content of a body file; undefined where there is no such file. */
  readonly bodyOf: (file: string) => Readonly<Record<string, Json>> | undefined
  /** The time of the requests, in milliseconds since the epoch. */
  readonly now: number
}

/** A request as a matrix writes it, without what is expected of it. */
export interface Cell
  extends Pick<Expectation, 'method' | 'path' | 'object' | 'column' | 'event' | 'when' | 'becomes' | 'body'> {
  /** Used instead of a file. */
  readonly content?: Readonly<Record<string, Json>>
  /** Asked without `If-Match`, whatever the route requires. */
  readonly unconditional?: boolean
  /** Relations that decide which objects a list holds, beside those that rules about the list name. */
  readonly apart?: readonly string[]
}

function remembered<T>(known: Map<string, T>, key: readonly unknown[], find: () => T): T {
  const text = JSON.stringify(key)
  if (known.has(text)) return known.get(text) as T
  const value = find()
  known.set(text, value)
  return value
}

export interface CellOfRoute {
  readonly policy: Policy
  readonly cell: Cell
  readonly route: Route
  readonly resource: Resource
}

const EMPTY: World = { kind: 'world', attributes: {}, ways: [], placed: [] }

/** `worlds`: those that are remembered. `idOf`: the ids of objects, which a caller's attribute may have to name. */
export function worldFixture(
  parts: Pick<FixtureParts, 'resources' | 'samples' | 'now'> & {
    readonly worlds?: Remembering['worlds']
    readonly idOf?: (nth: number) => string
  },
  about: CellOfRoute,
): World | NotFound {
  const { cell, route, resource } = about
  const unfit = unfitPath(about)
  if (unfit !== undefined) return impossible(unfit)
  if (cell.object.kind === 'missing') return EMPTY
  const common = relatingOf(
    { ...parts, newId: parts.idOf ? () => uuidv7() : idSeries(OBJECT) },
    { ...about, column: cell.column },
  )
  if (!common || resource.builtIn)
    return route.kind === 'collection' && !cell.event ? EMPTY : impossible(`${resource.name} has no objects`)
  const names = heldIn(cell.object)
  const apart = hasList(about) || cell.event ? apartIn(about) : undefined
  const key = [
    resource.name,
    common.callerId,
    route.kind,
    apart,
    names,
    cell.becomes ? [cell.method, cell.becomes] : [],
    cell.event,
    parts.now,
  ]
  return remembered(parts.worlds ?? new Map(), key, () => {
    const idOf = parts.idOf ?? nthObject
    const id = parts.idOf?.(0) ?? OBJECT
    if (cell.event) return followedFixture(common, cell, apart ?? [], idOf)
    if (route.kind !== 'collection') return stored(common, about, { relations: new Set(names), id })
    return apart ? listed(common, apart, idOf) : created(common, about, id)
  })
}

function unfitPath({ cell: { event, object }, route }: CellOfRoute): string | undefined {
  if (event) return route.events ? undefined : `\`${route.path}\` is no stream of events`
  if (route.kind === 'collection')
    return object.kind === 'none' ? undefined : 'a collection is asked about with the object `none`'
  return object.kind === 'none' ? 'this path names an object' : undefined
}

function stored(
  common: Common,
  { route, cell }: CellOfRoute,
  { relations, id }: Pick<WantedPair, 'relations' | 'id'>,
): World | NotFound {
  const pair = { ...common, relations, own: route.kind === 'caller', id }
  const found = relatedFixture(pair)
  if (found.kind !== 'related') return found
  const { attributes, object, others } = found
  const placed = [{ resource: common.resource.name, object }, ...others]
  const world: World = { kind: 'world', attributes, ways: [relations], id: String(object.id), placed }
  if (!cell.becomes) return world
  const result = resultFixture(pair, found, { becomes: new Set(cell.becomes), method: cell.method })
  return result.kind === 'result' ? { ...world, body: result.body, placed: [...placed, ...result.others] } : result
}

function created(common: Common, { cell }: CellOfRoute, id: string): World | NotFound {
  if (!cell.becomes) return EMPTY
  const found = createdFixture({ ...common, relations: new Set(cell.becomes), own: false, id })
  if (found.kind !== 'result') return found
  return { ...EMPTY, attributes: found.attributes, placed: found.others, body: found.body }
}

/** One object for each way in which the caller can relate to one. */
function listed(common: Common, apart: readonly string[], idOf: (nth: number) => string): World {
  const { attributes, placed } = listFixture(common, apart, idOf)
  const { name } = common.resource
  return {
    kind: 'world',
    attributes,
    ways: placed.map(({ relations }) => relations),
    placed: placed.flatMap(({ object, others }) => [{ resource: name, object }, ...others]),
  }
}

function apartIn({ policy, route, resource, cell: { method, event, apart = [] } }: CellOfRoute): readonly string[] {
  const endpoint = route.endpoints.get(method)
  const action = endpoint && resource.actions.get(endpoint.action)
  const actions = event ? actionsAbout(policy, resource, endpoint) : action ? [action] : []
  const named = actions.flatMap((one) => listingRelations(policy, { resource, action: one }))
  return [...new Set([...named, ...apart])].sort()
}

/** A separate id for each number, in the form of the server's ids. */
function nthObject(i: number): string {
  return `${OBJECT.slice(0, -4)}${(i + 16).toString(16).padStart(4, '0')}`
}

function hasList({ route, cell }: Pick<CellOfRoute, 'route' | 'cell'>): boolean {
  return route.endpoints.get(cell.method)?.operation === 'list'
}

/** The data to relate a caller of the column to objects of the resource; undefined for a resource without objects. */
export function relatingOf(
  {
    resources,
    samples: samplesOf,
    now,
    newId,
  }: Pick<FixtureParts, 'resources' | 'samples' | 'now'> & Pick<WantedPair, 'newId'>,
  { policy, resource, column }: Pick<CellOfRoute, 'policy' | 'resource'> & { readonly column: MatrixColumn },
): Common | undefined {
  const samples = samplesOf.get(resource.name)
  const ownership = policy.ownership.get(resource.name)
  const callerId = column.kind === 'anonymous' ? undefined : column.kind === 'user' ? column.id : CALLER
  return samples && { resources, samplesOf, resource, samples, ownership, callerId, now, newId }
}

function impossible(why: string): NotFound {
  return { kind: 'impossible', why }
}
