/**
 * The checks of semantics.md and language.md, once, in their order. Pure: no I/O, no clock, no HTTP. A decision is a
 * generator that asks for the facts it needs; who runs it (`withFacts`) supplies them, from a store, a record, or a
 * world in memory.
 */

import { represent, type Scalar, type StoredObject } from '../resources/object.ts'
import type { Endpoint, Resource, Route } from '../resources/resource.ts'
import {
  type AllowedObject,
  CreateDecision,
  type Decision,
  type DeleteDecision,
  deleteDecision,
  ListDecision,
  type ReadDecision,
  type RouteDecision,
  readDecision,
  UpdateDecision,
} from './decision.ts'
import { evidenceOf, recordObject } from './evidence.ts'
import { attributesOf, type CallerGrants, inView, relate } from './grants/caller-grants.ts'
import type { DirectPolicy } from './grants/direct.ts'
import type { Grant } from './grants/grant.ts'
import type { GrantTable } from './grants/grant-table.ts'
import { type Refusal, refusalBy } from './refusal.ts'
import type { AttributeOf } from './relations/relation-kind.ts'
import type { Snapshot, Subject } from './snapshot.ts'

export interface Question {
  readonly route: Route
  readonly endpoint: Endpoint
  /** The route's. */
  readonly resource: Resource
  /** The caller, with the subjects that the policy knows. */
  readonly subject: Subject
  /** Whether blocked.txt names the caller. */
  readonly blocked: boolean
  /** The path's `{id}`. */
  readonly id?: string | undefined
}

/** `caller`: the users record of the caller. */
type FactNeed =
  | { readonly kind: 'caller'; readonly id: string }
  | { readonly kind: 'object'; readonly resource: string; readonly id: string }

/** `table`: a grant table for which Casbin is being loaded. */
type Need = FactNeed | { readonly kind: 'table'; readonly table: Promise<GrantTable> }

type Steps<T, N extends Need = Need> = Generator<N, T, unknown>

/** The stored facts that decisions ask for. */
export interface FactSource<Found = StoredObject | undefined | Promise<StoredObject | undefined>> {
  /** The users record with this id, or undefined. */
  user(id: string): Found
  object(resource: string, id: string): Found
}

export type FactsAtHand = FactSource<StoredObject | undefined>

/** For decisions about supposed objects: the caller's attributes come from claims. */
export const NO_FACTS: FactsAtHand = { user: () => undefined, object: () => undefined }

/** The decision about an object if only its relations are known. */
export interface SupposedDecision {
  readonly kind: 'supposed'
  readonly grant: Grant
  /** The fields that `read` grants on such an object; not cut to the route's view. */
  readonly readable: ReadonlySet<string>
  readonly refusal: Refusal | undefined
}

/** Runs a decision: synchronously, without a promise, if all facts are available at once. */
export function withFacts<T>(steps: Steps<T, FactNeed>, facts: FactsAtHand): T
export function withFacts<T>(steps: Steps<T>, facts: FactSource): T | Promise<T>
export function withFacts<T>(steps: Steps<T>, facts: FactSource): T | Promise<T> {
  return goOn(steps, facts, undefined)
}

function goOn<T>(steps: Steps<T>, facts: FactSource, known: unknown): T | Promise<T> {
  let step = steps.next(known)
  while (!step.done) {
    const fact = factFor(step.value, facts)
    if (fact instanceof Promise) return fact.then((value) => goOn(steps, facts, value))
    step = steps.next(fact)
  }
  return step.value
}

function factFor(need: Need, facts: FactSource): unknown {
  if (need.kind === 'table') return need.table
  return need.kind === 'caller' ? facts.user(need.id) : facts.object(need.resource, need.id)
}

/** What the caller may do, or the refusal. */
export function decide(question: Question, policy: DirectPolicy): Steps<Decision | Refusal, FactNeed>
export function decide(question: Question, policy: Snapshot): Steps<Decision | Refusal>
export function* decide(question: Question, policy: Snapshot): Steps<Decision | Refusal> {
  const grants = yield* passRoleLevel(question, policy)
  if (grants.kind !== 'grants') return grants
  const { operation } = question.endpoint
  if (operation === 'list') return new ListDecision(grants)
  if (operation === 'create') return new CreateDecision(grants)
  const id = question.route.kind === 'caller' ? question.subject.caller?.id : question.id
  if (id === undefined || !isPossibleId(id)) return refusalBy('missing')
  const object = (yield { kind: 'object', resource: question.resource.name, id }) as StoredObject | undefined
  return object ? decideOnObject(grants, operation, object) : refusalBy('missing')
}

/** The same about an object that relates to the caller in this way: the part that can be known without the object. */
export function decideSupposed(
  question: Question,
  policy: DirectPolicy,
  relations: readonly string[],
): Steps<SupposedDecision | RouteDecision | Refusal, FactNeed>
export function* decideSupposed(
  question: Question,
  policy: Snapshot,
  relations: readonly string[],
): Steps<SupposedDecision | RouteDecision | Refusal> {
  const grants = yield* passRoleLevel(question, policy)
  if (grants.kind !== 'grants') return grants
  const { operation } = question.endpoint
  const grant = grants.table.grant(relations)
  const check = checkObject(grants, operation, { relations, grant })
  const refusal = check && refusalBy(check, { evidence: evidenceOf(relations, grant, {}) })
  return { kind: 'supposed', grant, readable: grants.readTable.grant(relations).fields, refusal }
}

/** All checks before an object is looked at. */
export function* passRoleLevel(question: Question, policy: Snapshot): Steps<CallerGrants | RouteDecision | Refusal> {
  const { route, endpoint, resource, subject, blocked } = question
  const { caller } = subject
  if (blocked) return refusalBy('blocked')
  // The path shows the record of the caller, whatever the policy grants. OPTIONS concerns no record.
  if (route.kind === 'caller' && endpoint.operation !== 'options' && !caller) return refusalBy('own-record')
  const table = yield* tableOf(policy, question, endpoint.action)
  if (endpoint.operation === 'options' || resource.builtIn) return decideRoute(table)
  const readTable = endpoint.action === 'read' ? table : yield* tableOf(policy, question, 'read')
  const attributeOf = yield* callerAttributes(question, [table, readTable])
  const grants: CallerGrants = {
    kind: 'grants',
    resource,
    ownership: policy.ownershipOf(resource.name),
    attributeOf,
    table,
    roleLevel: table.roleLevel((attribute) => attributeOf(attribute) !== undefined),
    readTable,
    view: route.view === undefined ? undefined : policy.viewOf(resource.name, route.view),
    recorded: policy.recordedFieldsOf(resource),
    objectBytes: policy.limits.objectBytes,
  }
  return grants.roleLevel.allowed && !route.redirect ? grants : decideRole(grants)
}

/**
 * Role level: some set of relations that this caller could have would be allowed. A redirect needs no further check.
 */
export function decideRole(grants: CallerGrants): RouteDecision | Refusal {
  const { allowed, lines } = grants.roleLevel
  const evidence = evidenceOf([], { lines }, attributesOf(grants))
  return allowed ? { kind: 'route', evidence, fields: new Set() } : refusalBy('role', { evidence })
}

function* tableOf(policy: Snapshot, { subject, resource }: Question, action: string): Steps<GrantTable> {
  const table = policy.table(subject, resource.name, action)
  return table instanceof Promise ? ((yield { kind: 'table', table }) as GrantTable) : table
}

/** No object is concerned, so no relation holds. */
export function decideRoute(table: GrantTable): RouteDecision | Refusal {
  const grant = table.grant([])
  const evidence = evidenceOf([], grant, {})
  return grant.fields.size > 0 ? { kind: 'route', evidence, fields: grant.fields } : refusalBy('role', { evidence })
}

/**
 * The attributes come from the caller's users record, or else from the token's claims (semantics.md, "Caller"). They
 * are read only if a rule compares them.
 */
function* callerAttributes({ subject: { caller } }: Question, tables: readonly GrantTable[]): Steps<AttributeOf> {
  if (!caller) return () => undefined
  const needed = tables.some(({ attributes }) => attributes.length > 0)
  const record = needed ? ((yield { kind: 'caller', id: caller.id }) as StoredObject | undefined) : undefined
  const attributes: Readonly<Record<string, unknown>> = record?.document ?? caller.claims
  return (name) => {
    if (name === 'id') return caller.id
    return Object.hasOwn(attributes, name) ? scalar(attributes[name]) : undefined
  }
}

function scalar(value: unknown): Scalar | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
}

/** A malformed id names an object that doesn't exist; the store isn't asked for it. */
function isPossibleId(id: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  return id.length <= 256 && !/[\0-\x1f\x7f]/.test(id)
}

/** Object level: the action on the object as it is stored. */
export function decideOnObject(
  grants: CallerGrants,
  operation: Endpoint['operation'],
  object: StoredObject,
): ReadDecision | UpdateDecision | DeleteDecision | Refusal {
  const representation = represent(object)
  const relations = relate(grants, representation)
  const grant = grants.table.grant(relations)
  const facts = { ...attributesOf(grants), object: recordObject(grants.recorded, representation) }
  const evidence = evidenceOf(relations, grant, facts)
  const check = checkObject(grants, operation, { relations, grant })
  if (check) return refusalBy(check, { evidence })
  const allowed: AllowedObject = { object, representation, grant, evidence }
  if (operation === 'read') return readDecision(grants, allowed)
  return operation === 'delete' ? deleteDecision(grants, allowed) : new UpdateDecision(grants, allowed)
}

interface Related {
  readonly relations: readonly string[]
  readonly grant: Grant
}

/**
 * At least one field must be granted; a read must show a field of the route's view. Undefined if the action is allowed.
 */
function checkObject(
  grants: CallerGrants,
  operation: Endpoint['operation'],
  { relations, grant }: Related,
): 'object' | 'concealed' | undefined {
  const fields = operation === 'read' ? inView(grants, grant.fields) : grant.fields
  if (fields.size > 0) return undefined
  const conceals = grants.ownership?.conceal === true && operation !== 'create'
  return conceals && grants.readTable.grant(relations).fields.size === 0 ? 'concealed' : 'object'
}
