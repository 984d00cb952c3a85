/** Reads what is known about the object: from --relation, from --object, or from the path. */

import { didYouMean } from '../../base/did-you-mean.ts'
import { concernsObject } from '../../decide/callers-and-routes.ts'
import { USERS } from '../../decide/policy.ts'
import { needsCaller } from '../../decide/relations/all-kinds.ts'
import { quote } from '../../present/quote.ts'
import { represent, type StoredObject } from '../../resources/object.ts'
import type { Resource, Resources, Route } from '../../resources/resource.ts'
import type { ObjectReader } from '../../store/contract.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import { ReviewError, type ReviewedPolicy } from '../load-policy.ts'
import type { AskingCaller, KnownObject, MatchedRequest } from './question.ts'

interface Flags {
  readonly relation?: string
  readonly object?: string
}

interface Context {
  readonly request: MatchedRequest
  readonly caller: AskingCaller
  readonly reviewed: ReviewedPolicy
  readonly resources: Resources
  /** Opens the database for --object. Throws StoreUnavailable. */
  readonly openReader: () => ObjectReader
}

type RouteRequest = Extract<MatchedRequest, { kind: 'route' }>

const NONE = 'none'

/** Throws ReviewError. */
export function readKnownObject(flags: Flags, context: Context): KnownObject {
  const { request } = context
  if (flags.relation !== undefined && flags.object !== undefined) {
    throw new ReviewError('the relations come from the object: give --object or --relation, not both')
  }
  if (request.kind === 'refused') return { kind: 'any', id: undefined }
  if (flags.relation !== undefined) return knownRelations(flags.relation, request, context)
  if (flags.object !== undefined) return storedObject(flags.object, request, context)
  return { kind: 'any', id: request.id ?? ownId(request.route, context.caller) }
}

function knownRelations(text: string, request: RouteRequest, context: Context): KnownObject {
  const resource = resourceWithObjects('--relation', request, context)
  const declared = [...(context.reviewed.policy.ownership.get(resource.name)?.relations.keys() ?? [])]
  const names = text === NONE && !declared.includes(NONE) ? [] : text.split('+').map((name) => name.trim())
  const unknown = names.find((name) => !declared.includes(name))
  if (unknown !== undefined) {
    const fault = `ownership.yaml declares no relation ${quote(unknown)} for ${resource.name}`
    throw new ReviewError(`${fault}: name one of ${[...declared, NONE].join(', ')}${didYouMean(unknown, declared)}`)
  }
  refuseImpossible(names, resource, context)
  return { kind: 'relations', from: '--relation', id: request.id, holding: new Set(names) }
}

/** Without credentials no relation to a caller can hold. */
function refuseImpossible(names: readonly string[], { name: resource }: Resource, { reviewed, caller }: Context): void {
  const relations = reviewed.policy.ownership.get(resource)?.relations
  const ofCaller = names.flatMap((name) => relations?.get(name) ?? []).find(needsCaller)
  if (caller.kind === 'caller' || !ofCaller) return
  throw new ReviewError(
    `a caller without credentials can't be ${quote(ofCaller.name)}: name the caller with --role or --subject`,
  )
}

function storedObject(id: string, request: RouteRequest, context: Context): KnownObject {
  const resource = resourceWithObjects('--object', request, context)
  if (request.endpoint.operation === 'create') {
    throw new ReviewError(
      'POST creates an object, so --object names none: give the relations of the new object with --relation',
    )
  }
  const inPath = request.id ?? ownId(request.route, context.caller)
  if (inPath !== undefined && inPath !== id) {
    throw new ReviewError(
      `the request is about the object ${quote(inPath)}, but --object names ${quote(id)}: name the same object`,
    )
  }
  const { caller, resources } = context
  const directory = resources.byName.get(USERS)
  const subject = caller.kind === 'caller' ? caller.subject : undefined
  return withReader(context, (reader) => ({
    kind: 'object',
    id,
    object: representation(reader.get(resource, id)),
    record: directory && subject !== undefined ? representation(reader.get(directory, subject)) : undefined,
  }))
}

function resourceWithObjects(flag: string, request: RouteRequest, { resources }: Context): Resource {
  const { route, endpoint } = request
  const resource = resources.byName.get(route.resource)
  if (resource && concernsObject({ route, endpoint, resource })) return resource
  throw new ReviewError(`${request.method} ${request.route.path} concerns no object: omit ${flag}`)
}

function withReader({ openReader }: Context, read: (reader: ObjectReader) => KnownObject): KnownObject {
  try {
    const reader = openReader()
    try {
      return read(reader)
    } finally {
      reader.close()
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    const why = error.cause instanceof Error ? error.cause.message : 'it does not answer'
    throw new ReviewError(`the database can't be read (${why}): set DATA_DIR or DATABASE_URL to the server's database`)
  }
}

function representation(object: StoredObject | undefined) {
  return object && represent(object)
}

/** The id of the record that a path like /profile shows, if the caller is known. */
function ownId({ kind }: Route, caller: AskingCaller): string | undefined {
  return kind === 'caller' && caller.kind === 'caller' ? caller.subject : undefined
}
