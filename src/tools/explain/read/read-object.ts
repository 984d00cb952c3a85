/** Reads what is known about the object: from --relation, from --object, or from the path. */
import { concernsObject } from '../../../decide/callers-and-routes.ts'
import { USERS } from '../../../decide/policy.ts'
import { followsFrom, kindOf, leavesOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { quote } from '../../../present/quote.ts'
import { represent, type StoredObject } from '../../../resources/object.ts'
import type { Resource, Resources, Route } from '../../../resources/resource.ts'
import { StoreUnavailable } from '../../../store/errors.ts'
import type { ObjectReader } from '../../../store/object-reader.ts'
import { NONE, supposedNames } from '../../asked/supposed-names.ts'
import { type LoadedPolicy, ToolError } from '../../load-policy.ts'
import type { AskingCaller, KnownObject, MatchedRequest } from '../question.ts'
import { withRelated } from './related-objects.ts'

interface Flags {
  readonly relation?: string
  readonly object?: string
}

interface Context {
  readonly request: MatchedRequest
  readonly caller: AskingCaller
  readonly reviewed: LoadedPolicy
  readonly resources: Resources
  /** The database, for --object; related objects are read while the request is explained. Throws StoreUnavailable. */
  readonly reader: () => Promise<ObjectReader>
}

type RouteRequest = Extract<MatchedRequest, { kind: 'route' }>

/** Does the work with what is known, possibly more than once (see `withRelated`). Throws ToolError. */
export async function withKnownObject<T>(flags: Flags, context: Context, work: (known: KnownObject) => T): Promise<T> {
  const known = readKnown(flags, context)
  if (known.kind !== 'stored') return work(known)
  return reading(async () => {
    const reader = await context.reader()
    const object = await readStored(known, context, reader)
    return withRelated(reader, context.resources, (related) => work({ ...object, related }))
  })
}

/** An object of the database. */
interface Stored {
  readonly kind: 'stored'
  readonly id: string
  readonly resource: Resource
}

function readKnown(flags: Flags, context: Context): KnownObject | Stored {
  const { request } = context
  if (flags.relation !== undefined && flags.object !== undefined) {
    throw new ToolError('the relations come from the object: give --object or --relation, not both')
  }
  if (request.kind === 'refused') return { kind: 'any', id: undefined }
  if (flags.relation !== undefined) return knownRelations(flags.relation, request, context)
  if (flags.object !== undefined) return storedObject(flags.object, request, context)
  return { kind: 'any', id: request.id ?? ownId(request.route, context.caller) }
}

function knownRelations(text: string, request: RouteRequest, context: Context): KnownObject {
  const resource = resourceWithObjects('--relation', request, context)
  const declared = [...(context.reviewed.policy.ownership.get(resource.name)?.relations.keys() ?? [])]
  const names = supposedNames(text, declared, (unknown) => {
    const fault = `ownership.yaml declares no relation ${quote(unknown)} for ${resource.name}`
    return `${fault}: name one of ${[...declared, NONE].join(', ')}`
  })
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
function refuseImpossible(names: readonly string[], { name: resource }: Resource, { reviewed, caller }: Context): void {
  const relations = reviewed.policy.ownership.get(resource)?.relations
  const ofCaller = names.flatMap((name) => relations?.get(name) ?? []).find(needsCaller)
  if (caller.kind === 'caller' || !ofCaller) return
  throw new ToolError(
    `a caller without credentials can't be ${quote(ofCaller.name)}: name the caller with --role or --subject`,
  )
}

function storedObject(id: string, request: RouteRequest, context: Context): Stored {
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
  { id, resource }: Stored,
  { caller, resources }: Context,
  reader: ObjectReader,
): Promise<Omit<Extract<KnownObject, { kind: 'object' }>, 'related'>> {
  const directory = resources.byName.get(USERS)
  const subject = caller.kind === 'caller' ? caller.subject : undefined
  const object = representation(await reader.get(resource, id))
  if (!directory || subject === undefined) return { kind: 'object', id, object, record: undefined }
  return { kind: 'object', id, object, record: representation(await reader.get(directory, subject)) }
}

function resourceWithObjects(flag: string, request: RouteRequest, { resources }: Context): Resource {
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
