/** Reads a question: the route, and what the command line and the database say of the object and of the request. */
import { METHODS } from 'node:http'
import { isIP } from 'node:net'
import { concernsObject } from '../../decide/callers-and-routes.ts'
import { type Policy, USERS } from '../../decide/policy.ts'
import { followsFrom, kindOf, leavesOf, needsCaller } from '../../decide/relations/all-kinds.ts'
import type { KnownFacts, Relation } from '../../decide/relations/relation-kind.ts'
import { quote } from '../../present/quote.ts'
import { represent, type Scalar, type StoredObject } from '../../resources/object.ts'
import type { Method, Representation, Resource, Resources, Route } from '../../resources/resource.ts'
import type { Match } from '../../resources/routing/match-route.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import type { ObjectReader } from '../../store/object-reader.ts'
import { assumedConditions, assumedNames, NONE } from '../asked/assumed-names.ts'
import { type LoadedPolicy, ToolError } from '../load-policy.ts'
import {
  type AskingCaller,
  type KnownObject,
  type KnownRequest,
  type MatchedRequest,
  problem,
  type RouteRequest,
  unaccepted,
} from './request.ts'

interface RoutedRequest {
  readonly method: string
  readonly path: string
  readonly match: Match
}

export function matchRequest({ method, path, match }: RoutedRequest, resources: Resources): MatchedRequest {
  if (!METHODS.includes(method)) {
    return unaccepted(method, problem('malformed-request'), `HTTP has no method ${quote(method)}`)
  }
  switch (match.kind) {
    case 'malformed':
      return unaccepted(method, problem(match.problem.code), asClause(match.problem.detail))
    case 'unknown-path':
      return unaccepted(method, problem('route-not-found'), `no resource has this path${similarPaths(path, resources)}`)
    case 'unaccepted-method': {
      const { allow } = match.route
      return unaccepted(method, problem('method-not-allowed', { Allow: allow }), `the path accepts ${allow}`)
    }
    case 'route': {
      const { route, endpoint, id } = match
      return { kind: 'route', method: method as Method, route, endpoint, id: path === route.path ? undefined : id }
    }
  }
}

/** Turns a sentence for clients into a part of another sentence. */
function asClause(detail: string): string {
  return (detail.charAt(0).toLowerCase() + detail.slice(1)).replace(/\.$/, '')
}

/** The paths that share the most segments with this one; upper and lower case count as the same. */
function similarPaths(path: string, { routes }: Resources): string {
  const words = new Set(path.toLowerCase().split('/').filter(Boolean))
  const common = (route: Route) =>
    route.path
      .toLowerCase()
      .split('/')
      .filter((segment) => words.has(segment)).length
  const most = Math.max(0, ...routes.map(common))
  if (most === 0) return ''
  const similar = routes.filter((route) => common(route) === most)
  return `; is it ${similar.map((route) => route.path).join(' or ')}?`
}

// ---- Reads what is known about the object: from --relation, from --object, or from the path.

interface ObjectFlags {
  readonly relation?: string
  readonly object?: string
}

interface Sources {
  readonly request: MatchedRequest
  readonly caller: AskingCaller
  readonly reviewed: LoadedPolicy
  readonly resources: Resources
  /** The database, for --object; related objects are read while the request is explained. Throws StoreUnavailable. */
  readonly reader: () => Promise<ObjectReader>
}

/** Does the work with what is known, possibly more than once (see `withRelated`). Throws ToolError. */
export async function withKnownObject<T>(
  flags: ObjectFlags,
  context: Sources,
  work: (known: KnownObject) => T,
): Promise<T> {
  const known = readKnown(flags, context)
  if (known.kind !== 'stored') return work(known)
  return reading(async () => {
    const reader = await context.reader()
    const object = await readStored(known, context, reader)
    return withRelated(reader, context.resources, (related) => work({ ...object, related }))
  })
}

/** An object of the database. */
interface StoredQuestion {
  readonly kind: 'stored'
  readonly id: string
  readonly resource: Resource
}

function readKnown(flags: ObjectFlags, context: Sources): KnownObject | StoredQuestion {
  const { request } = context
  if (flags.relation !== undefined && flags.object !== undefined) {
    throw new ToolError('the relations come from the object: give --object or --relation, not both')
  }
  if (request.kind === 'refused') return { kind: 'any', id: undefined }
  if (flags.relation !== undefined) return knownRelations(flags.relation, request, context)
  if (flags.object !== undefined) return storedObject(flags.object, request, context)
  return { kind: 'any', id: request.id ?? ownId(request.route, context.caller) }
}

function knownRelations(text: string, request: RouteRequest, context: Sources): KnownObject {
  const resource = resourceWithObjects('--relation', request, context)
  const declared = [...(context.reviewed.policy.ownership.get(resource.name)?.relations.keys() ?? [])]
  const faultOf = (unknown: string) => {
    const fault = `ownership.yaml declares no relation ${quote(unknown)} for ${resource.name}`
    return `${fault}: name one of ${[...declared, NONE].join(', ')}`
  }
  const names = assumedNames(text, { flag: '--relation', declared, faultOf })
  refuseImpossible(names, resource, context)
  const relations = [...(context.reviewed.policy.ownership.get(resource.name)?.relations.values() ?? [])]
  return { kind: 'relations', from: '--relation', id: request.id, holding: withParts(names, relations) }
}

/** Exactly these relations, the parts that they need, and the relations that follow. Throws ToolError. */
function withParts(names: readonly string[], relations: readonly Relation[]): ReadonlySet<string> {
  const named = relations.filter(({ name }) => names.includes(name))
  const needed = new Set(named.flatMap(neededParts))
  const holding = relations.filter((relation) => followsFrom(relation, (leaf) => needed.has(leaf)))
  const open = named.find((relation) => !holding.includes(relation))
  if (!open) return new Set(holding.map(({ name }) => name))
  const parts = leavesOf(open).map(({ name }) => name)
  throw new ToolError(`${quote(open.name)} holds if one of its parts does: name ${parts.join(' or ')} instead`)
}

/** The relations without parts that must hold with this one. */
function neededParts(relation: Relation): readonly Relation[] {
  const { need, of } = kindOf(relation).parts?.(relation) ?? { need: 'all', of: undefined }
  if (!of) return [relation]
  return need === 'all' ? of.flatMap(neededParts) : []
}

/** Without credentials no relation to a caller can hold. */
function refuseImpossible(names: readonly string[], { name: resource }: Resource, { reviewed, caller }: Sources): void {
  const relations = reviewed.policy.ownership.get(resource)?.relations
  const ofCaller = names.flatMap((name) => relations?.get(name) ?? []).find(needsCaller)
  if (caller.kind === 'caller' || !ofCaller) return
  throw new ToolError(
    `a caller without credentials can't be ${quote(ofCaller.name)}: name the caller with --role or --subject`,
  )
}

function storedObject(id: string, request: RouteRequest, context: Sources): StoredQuestion {
  const resource = resourceWithObjects('--object', request, context)
  if (request.endpoint.operation === 'create') {
    throw new ToolError(
      'POST creates an object, so --object names none: give the relations of the new object with --relation',
    )
  }
  const inPath = request.id ?? ownId(request.route, context.caller)
  if (inPath !== undefined && inPath !== id) {
    throw new ToolError(
      `the request is about the object ${quote(inPath)}, but --object names ${quote(id)}: name the same object`,
    )
  }
  return { kind: 'stored', id, resource }
}

async function readStored(
  { id, resource }: StoredQuestion,
  { caller, resources }: Sources,
  reader: ObjectReader,
): Promise<Omit<Extract<KnownObject, { kind: 'object' }>, 'related'>> {
  const directory = resources.byName.get(USERS)
  const subject = caller.kind === 'caller' ? caller.subject : undefined
  const object = representation(await reader.get(resource, id))
  if (!directory || subject === undefined) return { kind: 'object', id, object, record: undefined }
  return { kind: 'object', id, object, record: representation(await reader.get(directory, subject)) }
}

function resourceWithObjects(flag: string, request: RouteRequest, { resources }: Sources): Resource {
  const { route, endpoint } = request
  const resource = resources.byName.get(route.resource)
  if (resource && concernsObject({ route, endpoint, resource })) return resource
  throw new ToolError(`${request.method} ${request.route.path} concerns no object: omit ${flag}`)
}

/** Reads the database, and says what to do if that fails. */
async function reading<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    const why = error.cause instanceof Error ? error.cause.message : 'it does not answer'
    throw new ToolError(`the database can't be read (${why}): set DATA_DIR or DATABASE_URL to the server's database`)
  }
}

function representation(object: StoredObject | undefined) {
  return object && represent(object)
}

/** The id of the record that a path like /profile shows, if the caller is known. */
function ownId({ kind }: Route, caller: AskingCaller): string | undefined {
  return kind === 'caller' && caller.kind === 'caller' ? caller.subject : undefined
}

// ---- Reads the objects on which relations rest. Which ones are asked for is only known while the request is
// explained.

/** The limit of objects with which one object is related. */
const MOST_RELATED = 1000

type Linked = KnownFacts['related']

interface Sought {
  readonly resource: string
  readonly by: string
  readonly values: readonly Scalar[]
}

/** Interrupts work that asks for objects which haven't been read yet. */
class Unread extends Error {
  readonly sought: Sought

  constructor(sought: Sought) {
    super(`objects of ${sought.resource} haven't been read yet`)
    this.sought = sought
  }
}

/** The work can't wait for the database: what it asks for is read, and it starts again. It must have no effects. */
async function withRelated<T>(reader: ObjectReader, resources: Resources, work: (related: Linked) => T): Promise<T> {
  const found = new Map<string, ReturnType<Linked>>()
  const related: Linked = (resource, by, values) => {
    const key = keyOf({ resource, by, values })
    if (!found.has(key)) throw new Unread({ resource, by, values })
    return found.get(key)
  }
  for (;;) {
    try {
      return work(related)
    } catch (error) {
      if (!(error instanceof Unread)) throw error
      found.set(keyOf(error.sought), await read(reader, resources, error.sought))
    }
  }
}

function keyOf({ resource, by, values }: Sought): string {
  return JSON.stringify([resource, by, values])
}

/** Undefined, so not known, if there are more than anybody would read. */
async function read(
  reader: ObjectReader,
  { byName }: Resources,
  { resource: name, by, values }: Sought,
): Promise<readonly Representation[] | undefined> {
  const resource = byName.get(name)
  const found = resource ? await reader.find(resource, by, values, MOST_RELATED + 1) : []
  return found.length > MOST_RELATED ? undefined : found.map(represent)
}

// ---- Reads what the command line says about the conditions of a request: --with and --address.

interface RequestFlags {
  readonly with?: string
  readonly address?: string
}

/** Throws ToolError. */
export function readKnownRequest({ with: assumed, address }: RequestFlags, { conditions }: Policy): KnownRequest {
  if (address !== undefined && isIP(address) === 0) {
    throw new ToolError(`${quote(address)} is not an IP address: write it as 192.0.2.7 or 2001:db8::7`)
  }
  if (assumed === undefined) return { address }
  if (address !== undefined) {
    throw new ToolError('--with already says which conditions hold: give --with or --address, not both')
  }
  return { conditions: { holds: assumedConditions(assumed, [...conditions.keys()]), from: '--with' } }
}
