/**
 * The checks of docs/semantics.md, once, in their order. Pure: no I/O, no clock, no HTTP. A decision is a
 * generator that asks for the facts it needs (facts.ts).
 */

import { represent, type StoredObject } from '../resources/object.ts'
import type { Endpoint, FieldNames, Representation, Resource, Route } from '../resources/resource.ts'
import { createRoute } from './callers-and-routes.ts'
import {
  type AllowedObject,
  CreateDecision,
  type Decision,
  type DeleteDecision,
  deleteDecision,
  type ReadDecision,
  type RouteDecision,
  readDecision,
  UpdateDecision,
  WatchDecision,
} from './decision.ts'
import { askedFacts, type Evidence, evidenceOf, type Facts, recordObject } from './evidence.ts'
import type { FactNeed, Steps } from './facts.ts'
import {
  askingOf,
  attributesOf,
  type CallerGrants,
  factsOf,
  grantOn,
  inView,
  readableOn,
  relatingBy,
  withHolding,
} from './grants/caller-grants.ts'
import type { DirectPolicy } from './grants/direct.ts'
import type { Grant } from './grants/grant.ts'
import type { GrantTable } from './grants/grant-table.ts'
import { ListDecision } from './grants/list-decision.ts'
import { Sight } from './grants/sight.ts'
import type { Subject } from './grants/subjects.ts'
import { servedRoute } from './object-routes.ts'
import { assumeResult, type HypotheticalDecision, type HypotheticalResult } from './permits/assumed-object.ts'
import { type Block, USERS } from './policy.ts'
import { type Refusal, refusalBy } from './refusal.ts'
import { filledFields, relate } from './relations/ownership.ts'
import { type ConditionsAsked, conditionsNow } from './request-conditions/conditions-now.ts'
import { stepUp } from './request-conditions/step-up.ts'
import type { Snapshot } from './snapshot.ts'

export interface Question extends ConditionsAsked {
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

/** Whether blocked.txt blocks a caller at a time in milliseconds since the epoch. `blocks`: by id. */
export function isBlocked(blocks: ReadonlyMap<string, Block>, id: string, now: number): boolean {
  const block = blocks.get(id)
  return block !== undefined && (block.until === undefined || now < block.until)
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
  if (operation === 'watch') {
    const sight = yield* sightOf(question, grants, policy)
    return sight instanceof Sight ? new WatchDecision(sight) : sight
  }
  const id = question.route.kind === 'caller' ? question.subject.caller?.id : question.id
  const missing = () => refusalBy('missing', { evidence: evidenceOf([], { lines: [] }, factsOf(grants)) })
  if (id === undefined || !isPossibleId(id)) return missing()
  const object = (yield { kind: 'object', resource: question.resource.name, id }) as StoredObject | undefined
  return object ? yield* decideOnObject(grants, operation, object) : missing()
}

/**
 * The same about an object that relates to the caller in this way, and about what a write would leave: the part that
 * can be known without the object.
 */
export function decideHypothetical(
  question: Question,
  policy: DirectPolicy,
  relations: readonly string[],
  result?: HypotheticalResult,
): Steps<HypotheticalDecision | RouteDecision | Refusal, FactNeed>
export function* decideHypothetical(
  question: Question,
  policy: Snapshot,
  relations: readonly string[],
  result?: HypotheticalResult,
): Steps<HypotheticalDecision | RouteDecision | Refusal> {
  const grants = yield* passRoleLevel(question, policy)
  if (grants.kind !== 'grants') return grants
  const grant = grantOn(grants, relations)
  if (question.endpoint.operation === 'watch') {
    const sight = yield* sightOf(question, grants, policy)
    return sight instanceof Sight ? assumeInSight(sight, relations, grant) : sight
  }
  const refusal = checkObject(grants, question.endpoint.operation, relations)
  const withEvidence = refusal && { ...refusal, evidence: evidenceOfRefusal(grants, relations, grant, {}) }
  if (!withEvidence && result) return assumeResult(grants, result)
  return { kind: 'hypothetical', grant, readable: readableOn(grants, relations), refusal: withEvidence }
}

/** Whether such an object is in sight of whoever follows events, and the fields that are seen. */
function assumeInSight(sight: Sight, relations: readonly string[], grant: Grant): HypotheticalDecision {
  const seen = sight.on(relations)
  const fields = seen ?? new Set<string>()
  const refusal = seen ? undefined : refusalBy('object', { evidence: evidenceOf(relations, grant, {}) })
  return { kind: 'hypothetical', grant: { ...grant, fields }, readable: fields, refusal }
}

/** The part that can be known where the object is stored elsewhere: whether the caller may do this with some object. */
export function* decideAtRoleLevel(question: Question, policy: Snapshot): Steps<RouteDecision | Refusal> {
  const grants = yield* passRoleLevel(question, policy)
  return grants.kind === 'grants' ? decideRole(grants) : grants
}

/** All checks before an object is looked at. */
export function* passRoleLevel(question: Question, policy: Snapshot): Steps<CallerGrants | RouteDecision | Refusal> {
  const { route, endpoint, resource, subject, blocked } = question
  const { caller } = subject
  const { command: { sets } = NOTHING } = route
  if (blocked) return refusalBy('blocked')
  if (!caller && needsId(question)) return refusalBy('own-record')
  const table = yield* tableOf(policy, question, endpoint.action)
  if (endpoint.operation === 'options' || resource.builtIn) return decideRoute(policy, question, table)
  const readTable = endpoint.action === 'read' ? table : yield* tableOf(policy, question, 'read')
  const { ownership } = table
  const filled = endpoint.operation === 'create' ? filledFields(resource, ownership) : []
  const conditions = conditionsNow(policy.conditions, question, both(table.conditions, readTable.conditions))
  const attributes = both(both(table.attributes, readTable.attributes), attributesOf(filled))
  // The users record is read only if an attribute of it is needed.
  const user = attributes.length > 0 ? caller : undefined
  const record = user && ((yield { kind: 'caller', id: user.id }) as StoredObject | undefined)
  const asking = askingOf(caller, record, question.now)
  const has = (attribute: string) => asking.valuesOf(attribute).length > 0
  const grants: CallerGrants = {
    kind: 'grants',
    resource,
    ownership,
    asking,
    attributes,
    filled,
    conditions,
    table,
    roleLevel: table.roleLevel(has, conditions.holding),
    readTable,
    view: route.view === undefined ? undefined : policy.viewOf(resource.name, route.view),
    sets,
    objectBytes: policy.limits.objectBytes,
    roleGuarantees: resource.name === USERS ? policy.roleGuarantees : undefined,
    reads: { lookups: [], caller: user && { id: user.id, version: record?.version } },
  }
  if (!grants.roleLevel.allowed || route.redirect) return decideRole(grants)
  return route.command ? yield* passCreates(question, policy, grants) : grants
}

/** What a command creates must be allowed for some object too, unless its own grant is enough. */
function* passCreates(question: Question, policy: Snapshot, grants: CallerGrants): Steps<CallerGrants | Refusal> {
  const { command } = question.route
  for (const step of command?.grantsSteps ? [] : (command?.creates ?? [])) {
    const resource = policy.resourceNamed(step.resource)
    const created = yield* passRoleLevel({ ...question, ...createRoute(resource), resource, id: undefined }, policy)
    if (created.kind === 'refused') return created
  }
  return grants
}

/** For the caller's own record, or to write the id, whatever the policy grants. OPTIONS concerns no record. */
function needsId({ route: { kind, command }, endpoint }: Question): boolean {
  return endpoint.operation !== 'options' && (kind === 'caller' || command?.namesCaller === true)
}

const NOTHING: { readonly sets: FieldNames } = { sets: new Set() }

/** Most tables name neither conditions nor attributes, and a read asks one table twice. */
function both(some: readonly string[], others: readonly string[]): readonly string[] {
  if (others.length === 0 || some === others) return some
  return some.length === 0 ? others : [...new Set([...some, ...others])]
}

/**
 * Role level: some set of relations that this caller could have would be allowed. A redirect needs no further check.
 */
export function decideRole(grants: CallerGrants): RouteDecision | Refusal {
  const { allowed, lines } = grants.roleLevel
  const evidence = evidenceOf([], { lines }, factsOf(grants))
  if (allowed) return { kind: 'route', evidence, fields: new Set() }
  const passes = (holding: readonly string[]) => withHolding(grants, holding).roleLevel.allowed
  return refusalBy('role', { evidence, ...stepUp(grants.conditions, passes) })
}

function* tableOf(policy: Snapshot, { subject, resource }: Question, action: string): Steps<GrantTable> {
  const table = policy.table(subject, resource.name, action)
  return table instanceof Promise ? ((yield { kind: 'table', table }) as GrantTable) : table
}

/** Whoever follows events must be able to list the objects and to read one: by the usual actions, in the view of the stream. */
export function* sightOf(
  question: Question,
  watch: CallerGrants,
  policy: Snapshot,
): Steps<Sight | RouteDecision | Refusal> {
  const { resource, now } = question
  const found: CallerGrants[] = []
  for (const operation of ['list', 'read'] as const) {
    const action = servedRoute(resource, operation, now)?.endpoint.action ?? operation
    const grants = yield* passRoleLevel({ ...question, endpoint: { operation, action } }, policy)
    if (grants.kind !== 'grants') return grants
    found.push(grants)
  }
  const [list, read] = found as [CallerGrants, CallerGrants]
  return new Sight({ watch, list, read })
}

/** No object is concerned, so no relation holds. */
export function decideRoute(policy: Snapshot, question: Question, table: GrantTable): RouteDecision | Refusal {
  const conditions = conditionsNow(policy.conditions, question, table.conditions)
  const grant = table.grant(conditions.holding)
  const evidence = evidenceOf([], grant, askedFacts(conditions, []))
  if (grant.fields.size > 0) return { kind: 'route', evidence, fields: grant.fields }
  const passes = (names: readonly string[]) => table.grant(names).fields.size > 0
  return refusalBy('role', { evidence, ...stepUp(conditions, passes) })
}

/** A malformed id names an object that doesn't exist; the store isn't asked for it. */
export function isPossibleId(id: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  return id.length <= 256 && !/[\0-\x1f\x7f]/.test(id)
}

/** A store returns the same object while it is unchanged (docs/decisions/0081). */
const representations = new WeakMap<StoredObject, Representation>()

/** Object level: the action on the object as it is stored. */
export function* decideOnObject(
  grants: CallerGrants,
  operation: Endpoint['operation'],
  object: StoredObject,
): Steps<ReadDecision | UpdateDecision | DeleteDecision | Refusal, FactNeed> {
  const representation = representations.getOrInsertComputed(object, represent)
  const related = yield* relate(relatingBy(grants), representation)
  const grant = grantOn(grants, related.names)
  const facts = { ...factsOf(grants, related), object: recordObject(grants.table.recorded, representation) }
  const refusal = checkObject(grants, operation, related.names)
  if (refusal) return { ...refusal, evidence: evidenceOfRefusal(grants, related.names, grant, facts) }
  const evidence = evidenceOf(related.names, grant, facts)
  const allowed: AllowedObject = { object, related, grant, evidence }
  if (operation === 'read') return readDecision(grants, allowed)
  return operation === 'delete' ? deleteDecision(grants, allowed) : new UpdateDecision(grants, allowed)
}

/** A command is refused for fields, unless none is granted. */
function evidenceOfRefusal({ sets }: CallerGrants, relations: readonly string[], grant: Grant, facts: Facts): Evidence {
  const fieldsRefused = grant.fields.size === 0 ? [] : [...sets.difference(grant.fields)]
  return { ...evidenceOf(relations, grant, facts), fieldsRefused }
}

/**
 * At least one field must be granted, and all that a command always sets; a read or a list must show a field of the
 * route's view. Undefined if the action is allowed.
 */
export function checkObject(
  grants: CallerGrants,
  operation: Endpoint['operation'],
  relations: readonly string[],
): Refusal | undefined {
  const shows = operation === 'read' || operation === 'list'
  const passes = (asked: CallerGrants) => {
    const { fields } = grantOn(asked, relations)
    return (shows ? inView(asked, fields) : fields).size > 0 && fields.isSupersetOf(asked.sets)
  }
  if (passes(grants)) return undefined
  const conceals = grants.ownership?.conceal === true && operation !== 'create'
  if (conceals && readableOn(grants, relations).size === 0) return refusalBy('concealed')
  const isPartly = grants.sets.size > 0 && grantOn(grants, relations).fields.size > 0
  return refusalBy(
    isPartly ? 'write' : 'object',
    stepUp(grants.conditions, (holding) => passes(withHolding(grants, holding))),
  )
}
