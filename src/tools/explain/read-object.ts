/** What is known of the object: from --relation, from --object, or from the path. */
import { didYouMean } from '../../base/did-you-mean.ts'
import { quote } from '../../present/quote.ts'
import { represent, type StoredObject } from '../../resources/object.ts'
import type { Resource, Resources, Route } from '../../resources/resource.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import type { ObjectReader } from '../../store/sqlite/reader.ts'
import { ReviewError, type ReviewedPolicy } from '../load-policy.ts'
import type { Asker } from './caller.ts'
import { concernsObjects, groundOf } from './ground.ts'
import type { Matched } from './match-request.ts'
import type { About, Asked } from './question.ts'

export interface Told {
  readonly relation?: string
  readonly object?: string
}

export interface Context {
  readonly matched: Matched
  readonly asker: Asker
  readonly reviewed: ReviewedPolicy
  readonly resources: Resources
  /** Opens the database that --object is read from. Throws StoreUnavailable. */
  readonly openReader: () => ObjectReader
}

type AskedRoute = Extract<Asked, { kind: 'route' }>

/** The resource whose records hold callers' attributes. */
const DIRECTORY = 'users'

const NONE = 'none'

/** Throws ReviewError. */
export function aboutOf(told: Told, context: Context): About {
  const { asked, id } = context.matched
  if (told.relation !== undefined && told.object !== undefined) {
    throw new ReviewError('an object tells its relations itself: give --object or --relation, not both')
  }
  if (asked.kind === 'refused') return { kind: 'any', id: undefined }
  if (told.relation !== undefined) return relationsOf(told.relation, asked, context)
  if (told.object !== undefined) return objectOf(told.object, asked, context)
  return { kind: 'any', id: id ?? ownId(asked.route, context.asker) }
}

function relationsOf(text: string, asked: AskedRoute, context: Context): About {
  const { resource } = objectGround('--relation', asked, context)
  const declared = [...(context.reviewed.policy.ownership.get(resource.name)?.relations.keys() ?? [])]
  const names = text === NONE && !declared.includes(NONE) ? [] : text.split('+').map((name) => name.trim())
  const unknown = names.find((name) => !declared.includes(name))
  if (unknown !== undefined) {
    const known = declared.length === 0 ? 'it declares none' : `it declares ${declared.join(', ')}`
    throw new ReviewError(
      `ownership.yaml declares no relation ${quote(unknown)} for ${resource.name}; ${known} (${NONE}: no relation holds)${didYouMean(unknown, declared)}`,
    )
  }
  refuseImpossible(names, resource, context)
  return { kind: 'relations', from: '--relation', id: context.matched.id, holding: new Set(names) }
}

/** Whoever sends no credentials is nobody's owner. */
function refuseImpossible(names: readonly string[], { name: resource }: Resource, { reviewed, asker }: Context): void {
  const relations = reviewed.policy.ownership.get(resource)?.relations
  const about = names.find((name) => relations?.get(name)?.kind === 'caller')
  if (asker.kind === 'caller' || about === undefined) return
  throw new ReviewError(`a caller without credentials can't be ${quote(about)}: say who asks with --role or --subject`)
}

function objectOf(id: string, asked: AskedRoute, context: Context): About {
  const { resource } = objectGround('--object', asked, context)
  if (asked.endpoint.operation === 'create') {
    throw new ReviewError('POST makes a new object: say how it would relate to the caller with --relation')
  }
  const inPath = context.matched.id ?? ownId(asked.route, context.asker)
  if (inPath !== undefined && inPath !== id) {
    throw new ReviewError(`the request is about the object ${quote(inPath)}, but --object names ${quote(id)}`)
  }
  return read(id, resource, context)
}

/** The resource, where relations to an object count. */
function objectGround(
  flag: string,
  asked: AskedRoute,
  { reviewed, resources, asker }: Context,
): { resource: Resource } {
  const ground = groundOf(reviewed.policy, resources, { ...asked, asker, object: undefined, has: () => true })
  if (concernsObjects(ground)) return ground
  throw new ReviewError(`${asked.method} ${asked.route.path} is about no object: leave ${flag} away`)
}

function read(id: string, resource: Resource, { asker, resources, openReader }: Context): About {
  const directory = resources.byName.get(DIRECTORY)
  const subject = asker.kind === 'caller' ? asker.subject : undefined
  return reading(openReader, (reader) => ({
    kind: 'object',
    id,
    object: representation(reader.get(resource, id)),
    record: directory && subject !== undefined ? representation(reader.get(directory, subject)) : undefined,
  }))
}

function reading(openReader: () => ObjectReader, work: (reader: ObjectReader) => About): About {
  try {
    const reader = openReader()
    try {
      return work(reader)
    } finally {
      reader.close()
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    const why = error.cause instanceof Error ? error.cause.message : 'it does not answer'
    throw new ReviewError(`the database can't be read: ${why}; --object reads the one of DATA_DIR or DATABASE_URL`)
  }
}

function representation(object: StoredObject | undefined) {
  return object && represent(object)
}

/** The id of the record that a path like /profile shows, where it is known who asks. */
function ownId({ kind }: Route, asker: Asker): string | undefined {
  return kind === 'caller' && asker.kind === 'caller' ? asker.subject : undefined
}
