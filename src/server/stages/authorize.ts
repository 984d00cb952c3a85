/**
 * The one authorization middleware: every method of every route passes here, OPTIONS included, and nothing else decides
 * (but the permits that its decision gives out). Role level first, before any object or body is read; then the object.
 */

import { Problem } from '../../base/problems/problem.ts'
import type { Caller } from '../../decide/caller.ts'
import {
  type Decision,
  decideCreate,
  decideDelete,
  decideList,
  decideRead,
  decideRole,
  decideRoute,
  decideUpdate,
} from '../../decide/decision.ts'
import type { GrantTable } from '../../decide/grants/grant-table.ts'
import { Denied, DeniedReading, type Ground } from '../../decide/ground.ts'
import type { AttributeOf } from '../../decide/relations/relation-kind.ts'
import type { ActivePolicy } from '../../policy/live-policy.ts'
import { isBlocked } from '../../policy/parse/parse-blocked.ts'
import type { Scalar, StoredObject } from '../../resources/object.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import type { Store } from '../../store/contract.ts'
import { notPermitted } from './refuse.ts'
import type { Stage } from './stage.ts'
import type { Accepted, AcceptedRequest, Authorized, Received } from './state.ts'

export interface Gate {
  readonly resources: Resources
  readonly store: Pick<Store, 'get'>
  /** Milliseconds since the epoch: a block may have an end. */
  readonly now: () => number
}

/** The resource whose records hold callers' attributes. */
const DIRECTORY = 'users'

/** Leaves a decision, or throws: 401, 403, 404, or a fault (never a pass). */
export function authorize(gate: Gate): Stage<Received & Accepted, Authorized> {
  return async (ctx, next) => {
    const { policy, accepted } = ctx.state
    ctx.state.decideAnew = () => decideRequest(gate, policy, accepted)
    ctx.state.decision = await decideRequest(gate, policy, accepted)
    return next()
  }
}

export async function decideRequest(gate: Gate, policy: ActivePolicy, asked: AcceptedRequest): Promise<Decision> {
  refuseBlocked(gate, policy, asked.caller)
  refuseAnonymousOwnRecord(asked)
  try {
    return await decide(gate, policy, asked)
  } catch (error) {
    throw error instanceof Denied ? refusal(error, asked.caller) : error
  }
}

/** What a denial is to the client: 401 or 403, 404 where the resource conceals, 403 with the fields at fault. */
export function refusal(denied: Denied, caller: Caller | undefined): Problem {
  const { fieldsRefused } = denied.evidence
  if (fieldsRefused.length > 0 && caller) return fieldForbidden(denied)
  if (denied.conceal) return objectNotFound(denied)
  return notPermitted(caller, 'The policy does not permit this to this caller.', denied)
}

function fieldForbidden(denied: Denied): Problem {
  const action = denied instanceof DeniedReading ? 'read' : 'write'
  const errors = denied.evidence.fieldsRefused.map((field) => ({
    pointer: `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    detail: action === 'read' ? 'is not readable for this caller' : 'is not writable for this caller',
    code: 'forbidden',
  }))
  const detail = `The policy does not let this caller ${action} these fields.`
  return new Problem('field-forbidden', detail, { cause: denied, errors })
}

function refuseBlocked({ now }: Gate, { blocked }: ActivePolicy, caller: Caller | undefined): void {
  if (caller && isBlocked(blocked, caller.id, now())) {
    throw new Problem('blocked', 'This caller is blocked; ask the operator of this server.')
  }
}

/** The caller's own record needs a caller, whatever the policy grants. OPTIONS concerns no record. */
function refuseAnonymousOwnRecord({ match: { route, endpoint }, caller }: AcceptedRequest): void {
  if (route.kind === 'caller' && endpoint.operation !== 'options' && !caller) {
    throw notPermitted(caller, 'This path shows the record of the caller.')
  }
}

async function decide(gate: Gate, { snapshot }: ActivePolicy, { match, caller }: AcceptedRequest): Promise<Decision> {
  const { route, endpoint } = match
  const resource = declared(gate, route.resource)
  const subject = snapshot.subjectOf(caller)
  const table = await snapshot.table(subject, resource.name, endpoint.action)
  if (endpoint.operation === 'options' || resource.builtIn) return decideRoute(table)
  const readTable = endpoint.action === 'read' ? table : await snapshot.table(subject, resource.name, 'read')
  const attributeOf = await attributesOf(gate, caller, [table, readTable])
  const ground: Ground = {
    resource,
    ownership: snapshot.ownershipOf(resource.name),
    attributeOf,
    table,
    roleLevel: table.roleLevel((attribute) => attributeOf(attribute) !== undefined),
    readTable,
    view: route.view === undefined ? undefined : snapshot.viewOf(resource.name, route.view),
    recorded: snapshot.recordedFieldsOf(resource.name),
    objectBytes: snapshot.limits.objectBytes,
  }
  const role = decideRole(ground)
  if (route.redirect) return role
  if (endpoint.operation === 'list') return decideList(ground)
  if (endpoint.operation === 'create') return decideCreate(ground)
  const object = await load(gate.store, resource, route.kind === 'caller' ? caller?.id : match.id)
  if (endpoint.operation === 'read') return decideRead(ground, object)
  return endpoint.operation === 'delete' ? decideDelete(ground, object) : decideUpdate(ground, object)
}

function declared({ resources }: Gate, name: string): Resource {
  const resource = resources.byName.get(name)
  if (!resource) throw new Error(`no schema declares ${name}`)
  return resource
}

/** A malformed id is an object that doesn't exist; the store isn't asked for what it can't hold. */
async function load(store: Gate['store'], { name }: Resource, id: string | undefined): Promise<StoredObject> {
  const object = id !== undefined && isPossibleId(id) ? await store.get(name, id) : undefined
  if (!object) throw objectNotFound()
  return object
}

function isPossibleId(id: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  return id.length <= 256 && !/[\0-\x1f\x7f]/.test(id)
}

function objectNotFound(cause?: unknown): Problem {
  return new Problem('object-not-found', 'No object has this id.', { cause })
}

/** From the caller's users record, else from the token's claims (semantics.md, "Caller"); loaded only where a rule asks. */
function attributesOf(
  { store, resources }: Gate,
  caller: Caller | undefined,
  tables: readonly GrantTable[],
): AttributeOf | Promise<AttributeOf> {
  if (!caller) return () => undefined
  const needed = tables.some(({ attributes }) => attributes.length > 0)
  if (!needed || !resources.byName.has(DIRECTORY)) return lookUp(caller, caller.claims)
  return store.get(DIRECTORY, caller.id).then((record) => lookUp(caller, record?.document ?? caller.claims))
}

function lookUp(caller: Caller, attributes: Readonly<Record<string, unknown>>): AttributeOf {
  return (name) => {
    if (name === 'id') return caller.id
    return Object.hasOwn(attributes, name) ? scalar(attributes[name]) : undefined
  }
}

function scalar(value: unknown): Scalar | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
}
