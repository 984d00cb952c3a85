/** The answer to a request: the levels in their order, step-up, what is written, and what is shown. */
import { change, create, grantedWithoutObject, inView, list, onObject, queryable, roleLevel } from '../oracle.ts'
import type { Plain, World } from '../world.ts'
import { holdingConditions, signedInConditions } from './conditions.ts'
import { isObject, own, sameJson, subsets } from './plain.ts'
import { created, replaced, replacedFields, updated } from './proposals.ts'

export interface OracleRequest {
  readonly action: string
  /** What the method does; the action, unless the action is the schema's own. */
  readonly operation?: string
  readonly id?: string
  readonly body?: Plain
  /** The fields of the route's view. */
  readonly view?: ReadonlySet<string>
}

/** Fields and ids are sorted. */
export interface Answer {
  readonly status: number
  /** The `signedIn` conditions that a 401 asks for. */
  readonly stepUp?: readonly string[]
  readonly shows?: readonly string[]
  readonly ids?: readonly string[]
  readonly rows?: Readonly<Record<string, readonly string[]>>
  readonly queryable?: readonly string[]
  /** The object after a write. */
  readonly object?: Plain
}

const NEW_ID = 'new'

export function answer(world: World, request: OracleRequest): Answer {
  const { action, operation = action } = request
  const concernsNone = world.resource.builtIn || operation === 'options'
  const passesRoleLevel = (asked: World) =>
    concernsNone ? grantedWithoutObject(asked, action).size > 0 : roleLevel(asked, action)
  const refused = refusal(world, passesRoleLevel)
  if (refused) return refused
  if (concernsNone) return { status: 204 }
  if (operation === 'list') return answerList(world, request)
  return operation === 'create' ? answerCreate(world, request) : answerItem(world, { ...request, operation })
}

// ---- Refusals -------------------------------------------------------------------------------------------------------

/** Undefined if the level is passed. */
function refusal(world: World, passes: (world: World) => boolean): Answer | undefined {
  if (passes(world)) return undefined
  if (world.caller.id === undefined) return { status: 401 }
  const stepUp = world.caller.credential === 'api-key' ? undefined : stepUpFor(world, passes)
  return stepUp ? { status: 401, stepUp } : { status: 403 }
}

/** The smallest set of `signedIn` conditions that gets past the level; of equals, the first in the file. */
function stepUpFor(world: World, passes: (world: World) => boolean): readonly string[] | undefined {
  const holding = holdingConditions(world)
  const missing = signedInConditions(world).filter((name) => !holding.has(name))
  const found = subsets(missing)
    .toSorted((one, other) => one.size - other.size)
    .find((assumed) => assumed.size > 0 && passes({ ...world, assumed }))
  return found && missing.filter((name) => found.has(name))
}

// ---- Lists ----------------------------------------------------------------------------------------------------------

function answerList(world: World, { view }: OracleRequest): Answer {
  const objects = list(world, world.objects?.get(world.resource.name) ?? [], view)
  const shown = (object: Plain) => fieldsOf(object, inView(onObject(world, 'list', object), view))
  return {
    status: 200,
    ids: objects.map(({ id }) => String(id)).toSorted(),
    rows: Object.fromEntries(objects.map((object) => [String(object.id), shown(object)])),
    queryable: [...inView(queryable(world), view)].toSorted(),
  }
}

// ---- Items ----------------------------------------------------------------------------------------------------------

function answerItem(world: World, request: OracleRequest & { readonly operation: string }): Answer {
  const { action, operation, id, view } = request
  const stored = world.objects?.get(world.resource.name)?.find((one) => one.id === id)
  if (!stored) return { status: 404 }
  const fields = (asked: World) => inView(onObject(asked, action, stored), operation === 'read' ? view : undefined)
  const conceals = world.policy.conceal?.has(world.resource.name) && onObject(world, 'read', stored).size === 0
  if (fields(world).size === 0 && conceals) return { status: 404 }
  const refused = refusal(world, (asked) => fields(asked).size > 0)
  if (refused) return refused
  if (operation === 'read') return { status: 200, shows: fieldsOf(stored, fields(world)) }
  return operation === 'delete' ? { status: 204 } : answerChange(world, stored, request)
}

// ---- Writes ---------------------------------------------------------------------------------------------------------

function answerCreate(world: World, { action, body = {}, view }: OracleRequest): Answer {
  const object = created(world, NEW_ID, body)
  const refused = refusal(world, (asked) => create(asked, object, declared(world, body), action).allowed)
  if (refused) return refused
  if (isFaulty(world, {}, body)) return { status: 400 }
  return { status: 201, shows: shownAfter(world, object, view) ?? [], object }
}

function answerChange(world: World, stored: Plain, request: OracleRequest & { readonly operation: string }): Answer {
  const { action, operation, body = {}, view } = request
  const proposal = proposalOf(world, stored, request)
  const refused = refusal(world, (asked) => isPermitted(asked, action, stored, proposal))
  if (refused) return refused.stepUp ? refused : (resultRefusal(world, action, stored, proposal) ?? refused)
  const sent = operation === 'replace' ? withoutTimes(body) : body
  if (isFaulty(world, stored, sent)) return { status: 400 }
  const object = proposal.proposed
  const shows = shownAfter(world, object, view)
  return { status: shows ? 200 : 204, shows: shows ?? [], object }
}

/** The result comes before the fields that the caller can neither read nor write; a patch that reads them has none. */
function resultRefusal(world: World, action: string, stored: Plain, proposal: Proposal): Answer | undefined {
  const { named, unread, reads } = proposal
  const writable = onObject(world, action, stored)
  const isServers = (field: string) => world.resource.readOnly.includes(field)
  const leftOut = unread.filter((field) => isServers(field) || !writable.has(field))
  if (leftOut.length === 0 || reads.some((field) => unread.includes(field))) return undefined
  const { proposed } = proposal
  const passes = (asked: World) => change(asked, action, { stored, proposed, named, unread, leftOut }).allowed
  const refused = refusal(world, passes)
  return refused?.stepUp ? refused : undefined
}

interface Proposal {
  readonly proposed: Plain
  /** The fields that the body gives, and what a PUT removes unseen. */
  readonly named: readonly string[]
  /** Of these, what the caller can't read before a new sign-in. */
  readonly unread: readonly string[]
  /** The fields that a patch reads. */
  readonly reads: readonly string[]
}

function proposalOf(
  world: World,
  stored: Plain,
  { action, operation, body = {} }: OracleRequest & { readonly operation: string },
): Proposal {
  const given = declared(world, body)
  const readable = onObject(world, 'read', stored)
  const isUnread = (field: string) => !readable.has(field)
  if (operation === 'update') {
    // The result of merging an object depends on the stored value.
    const reads = given.filter((one) => isObject(body[one]))
    return { proposed: updated(world, stored, body), named: given, unread: given.filter(isUnread), reads }
  }
  // Whether a PUT removes a value may not be told to somebody who can't read it.
  const named = [...given, ...replacedFields(world, stored, action).filter(isUnread)]
  return { proposed: replaced(world, stored, body, action), named, unread: named.filter(isUnread), reads: [] }
}

function isPermitted(world: World, action: string, stored: Plain, { reads, ...write }: Proposal): boolean {
  const readable = onObject(world, 'read', stored)
  return reads.every((field) => readable.has(field)) && change(world, action, { stored, ...write }).allowed
}

function declared({ resource }: World, body: Plain): readonly string[] {
  return Object.keys(body).filter((field) => resource.fields.includes(field))
}

/** A body may neither name unknown fields nor change what the server sets. */
function isFaulty({ resource }: World, stored: Plain, body: Plain): boolean {
  const isServers = (field: string) => resource.readOnly.includes(field) && !sameJson(own(stored, field), body[field])
  return Object.keys(body).some((field) => !resource.fields.includes(field) || isServers(field))
}

/** In a PUT, the server's times are ignored, so that what was read can be sent twice. */
function withoutTimes({ createdAt, updatedAt, ...body }: Plain): Plain {
  return body
}

/** What a read right after the write would show; undefined where it would be refused. */
function shownAfter(world: World, object: Plain, view: ReadonlySet<string> | undefined): readonly string[] | undefined {
  const after = worldAfter(world, object)
  const fields = inView(onObject(after, 'read', object), view)
  return fields.size > 0 ? fieldsOf(object, fields) : undefined
}

function worldAfter(world: World, object: Plain): World {
  const { name } = world.resource
  const others = (world.objects?.get(name) ?? []).filter(({ id }) => id !== object.id)
  const objects = new Map(world.objects).set(name, [...others, object])
  const isCallers = name === 'users' && object.id === world.caller.id
  return { ...world, objects, caller: isCallers ? { ...world.caller, record: object } : world.caller }
}

function fieldsOf(object: Plain, fields: ReadonlySet<string>): readonly string[] {
  return Object.keys(object)
    .filter((field) => fields.has(field))
    .toSorted()
}
