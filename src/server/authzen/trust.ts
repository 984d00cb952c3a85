/**
 * The subject, the object and the conditions of an evaluation, as far as the directory, the subject's own token, and
 * what callers.yaml lets the PEP say make them known; and why a decision is false, as stable codes for
 * services that ask (docs/authzen.md has the table).
 */

import { pointerOfPath } from '../../base/json-pointer.ts'
import { onceKnown } from '../../base/now-or-later.ts'
import type { FieldFault } from '../../base/problems/problem.ts'
import { subsets } from '../../base/subsets.ts'
import { type Caller, credentialKindOf } from '../../decide/caller.ts'
import type { AssertedObject } from '../../decide/grants/asserted-object.ts'
import { USERS } from '../../decide/policy.ts'
import type { Refusal } from '../../decide/refusal.ts'
import { conditionHolds, type RequestCondition } from '../../decide/request-conditions/all-conditions.ts'
import { isClaimableRole, isSubject } from '../../identity/caller.ts'
import type { Json, Representation, Resource } from '../../resources/resource.ts'
import type { AccountStatus } from '../../store/directory.ts'
import { callerNow, failureOf, verifyCredentials } from '../stages/authenticate.ts'
import { type Evaluation, type ResourceEntity, refuseFaultyMembers, type SubjectEntity } from './entities.ts'
import type { Deciding, Evaluating, Pep } from './pep.ts'

export const DENIAL_REASONS = {
  'subject-type': 'this service may not ask about subjects of this type',
  'subject-unknown': 'the directory has no such subject',
  'subject-disabled': 'the subject is disabled',
  'subject-blocked': 'blocked.txt names the subject',
  'subject-token': 'the token of the subject is missing, not valid, or of somebody else',
  'subject-named': 'a rule names the subject by its id, so what this service asserts of it does not count',
  'resource-unknown': 'no schema declares the type of the resource',
  'action-unknown': 'no route of the resource has the action',
  'object-missing': 'there is no such object, or the subject must not learn that it exists',
  'not-granted': 'no rule grants the action to the subject on any such object',
  'not-granted-here': 'no rule grants the action to the subject on this object',
  'fields-refused': 'the subject may not use a field that was asked about',
  'partly-granted': 'the subject may use some of the fields; ask with `context.fields`',
  'attributes-missing': 'the decision depends on attributes that the service did not send',
  'condition-unknown': 'the decision depends on a condition of the request that is not known',
  'body-needed': 'the decision depends on the values after the change; send `action.properties.body`',
  'body-invalid': 'the policy allows the change, but the object would not fit its schema or its largest size',
  'roles-apart': 'the policy allows the change, but it gives roles that must stay apart',
  'item-invalid': 'the item of the request is not an evaluation',
} as const

export type DenialReason = keyof typeof DENIAL_REASONS

const BY_CHECK: Readonly<Record<Refusal['check'], DenialReason>> = {
  blocked: 'subject-blocked',
  'own-record': 'object-missing',
  role: 'not-granted',
  missing: 'object-missing',
  object: 'not-granted-here',
  concealed: 'object-missing',
  write: 'fields-refused',
  read: 'fields-refused',
  schema: 'body-invalid',
  size: 'body-invalid',
  'roles-apart': 'roles-apart',
}

export function denialReasonOf({ check }: Refusal): DenialReason {
  return BY_CHECK[check]
}

export interface KnownSubject {
  readonly caller: Caller
  /** Its own token proves its sign-in. */
  readonly byToken?: true
  /** The service asserts its roles and attributes, so that others are unknown. */
  readonly isAsserted?: true
}

type FoundSubject = KnownSubject | { readonly reason: DenialReason }

/** Each doubles the number of decisions. */
export const MOST_UNKNOWN_CONDITIONS = 4

export type Holding = (condition: RequestCondition) => boolean

interface JudgedAnswer {
  readonly decision: boolean
  readonly fields?: readonly string[]
}

interface Unknown {
  readonly decision: false
  readonly reason: 'condition-unknown'
}

const UNKNOWN: Unknown = { decision: false, reason: 'condition-unknown' }

const NONE: ReadonlySet<string> = new Set()

/** `judge` decides while exactly these conditions hold. Throws what it throws, and Problem invalid-body. */
export function inEveryCase<T extends JudgedAnswer>(
  known: (condition: RequestCondition) => boolean | undefined,
  judge: (holding: Holding) => T | Promise<T>,
): T | Unknown | Promise<T | Unknown> {
  const unknown = new Set<string>()
  const holdingWith = (assumed: ReadonlySet<string>): Holding => {
    return (condition) => {
      const holds = known(condition)
      if (holds === undefined) unknown.add(condition.name)
      return holds ?? assumed.has(condition.name)
    }
  }
  return onceKnown(judge(holdingWith(NONE)), (first) => {
    if (unknown.size === 0) return first
    if (unknown.size > MOST_UNKNOWN_CONDITIONS) return UNKNOWN
    const others = nonEmptySubsets([...unknown])
    return inOtherCases(first, others, (assumed) => judge(holdingWith(assumed)))
  })
}

/** Without a promise, where the judge needs none: then the reads of all cases see one state. */
function inOtherCases<T extends JudgedAnswer>(
  all: T,
  [assumed, ...others]: readonly ReadonlySet<string>[],
  judge: (assumed: ReadonlySet<string>) => T | Promise<T>,
): T | Unknown | Promise<T | Unknown> {
  if (!assumed) return all.decision && all.fields?.length === 0 ? UNKNOWN : all
  return onceKnown(judge(assumed), (next): T | Unknown | Promise<T | Unknown> => {
    if (next.decision !== all.decision) return UNKNOWN
    return inOtherCases(withFieldsOfBoth(all, next), others, judge)
  })
}

function withFieldsOfBoth<T extends JudgedAnswer>(one: T, other: T): T {
  return one.fields ? { ...one, fields: one.fields.filter((name) => other.fields?.includes(name)) } : one
}

export function nonEmptySubsets(names: readonly string[]): readonly ReadonlySet<string>[] {
  return subsets(names)
    .slice(1)
    .map((set) => new Set(set))
}

/** Whether a condition holds, as far as that is known. Throws Problem invalid-body for a member that isn't a boolean. */
export function knownConditions(
  { trust, now }: Deciding,
  evaluation: Pick<Evaluation, 'action' | 'context'>,
  { caller, byToken }: KnownSubject,
): (condition: RequestCondition) => boolean | undefined {
  return (condition) => {
    if (trust.conditions.has(condition.name)) return assertedIn(evaluation, condition, trust)
    if (condition.kind === 'network' || condition.kind === 'asserted') return undefined
    if (condition.kind !== 'hours' && !byToken) return undefined
    const { authTime, acr } = caller
    return conditionHolds(condition, { now, authTime, acr, credential: credentialKindOf(caller), hasCredentials: true })
  }
}

function assertedIn(
  evaluation: Pick<Evaluation, 'action' | 'context'>,
  { name }: RequestCondition,
  { conditions }: Pep['trust'],
): boolean | undefined {
  const by = conditions.get(name)
  if (!by) return undefined
  const members = by.in === 'context' ? evaluation.context : evaluation.action.properties
  const value = members && Object.hasOwn(members, by.member) ? members[by.member] : undefined
  if (value === undefined || typeof value === 'boolean') return value
  const path = by.in === 'context' ? ['context', by.member] : ['action', 'properties', by.member]
  return refuseFaultyMembers([{ pointer: pointerOfPath(path), detail: 'must be of the type boolean', code: 'type' }])
}

/** Undefined if only a stored object counts. Throws Problem invalid-body for attributes that the schema refuses. */
export function assertedObject(
  { trust, once }: Evaluating,
  resource: Resource,
  { resource: entity, action }: Evaluation,
  { isAsserted }: KnownSubject,
): AssertedObject | undefined {
  const { id } = entity
  const counts = trust.assertedResources.has(resource.name)
  if (!counts) return resource.external ? { attributes: { id }, isCallerAsserted: isAsserted === true } : undefined
  if (action.properties?.body !== undefined) {
    const detail = 'is only judged for objects that are stored here'
    refuseFaultyMembers([{ pointer: '/action/properties/body', detail, code: 'not-stored' }])
  }
  // Many items of a batch may share it, with thousands of properties.
  const { attributes, faults } = once(entity, () => judgedObject(resource, entity))
  refuseFaultyMembers(faults)
  return { attributes, isCallerAsserted: isAsserted === true }
}

function judgedObject(resource: Resource, { id, properties = {} }: ResourceEntity) {
  const { id: _, ...attributes } = properties
  return { attributes: { ...attributes, id }, faults: faultsOf(resource, attributes, '/resource/properties') }
}

/** What is missing is unknown, which is no fault. `at`: where the properties are in the evaluation. */
function faultsOf(resource: Resource, properties: Representation, at: string): readonly FieldFault[] {
  return resource
    .validate(properties)
    .filter(({ code, pointer }) => code !== 'required' || pointer.split('/').length > 2)
    .map((fault) => ({ ...fault, pointer: `${at}${fault.pointer}` }))
}

/** The member of `subject.properties` with the token. It is never logged, nor kept in records. */
const TOKEN = 'token'
const ROLES = ['roles', 'role']

/** Throws StoreUnavailable, and Problem where no key server answers. */
function subjectByToken(pep: Pep, { id, properties }: SubjectEntity): FoundSubject | Promise<FoundSubject> {
  const token = properties?.[TOKEN]
  if (typeof token !== 'string') return { reason: 'subject-token' }
  return pep.once(`token/${JSON.stringify([id, token])}`, () =>
    onceKnown(verifyCredentials(pep.verifier, { kind: 'bearer', token }), (found): FoundSubject => {
      if (found.kind === 'failed') throw failureOf(found)
      if (found.kind !== 'caller' || found.caller.id !== id) return { reason: 'subject-token' }
      return { caller: callerNow(pep.policy, found.caller, pep.now), byToken: true }
    }),
  )
}

/**
 * A disabled or deleted person stays out, whatever is asserted. So does a person that a rule names: an entry's roles bound
 * no such grant. Throws Problem invalid-body for roles that aren't texts.
 */
function subjectByAssertion(
  pep: Pep,
  subject: SubjectEntity,
  most: ReadonlySet<string>,
): FoundSubject | Promise<FoundSubject> {
  const { id } = subject
  // Many items of a batch may share it, with thousands of roles or attributes.
  const { caller, faults } = pep.once(subject, () => judgedSubject(pep, subject, most))
  refuseFaultyMembers(faults)
  if (pep.policy.snapshot.grantsByName(id)) return { reason: 'subject-named' }
  return onceKnown(pep.directory.accountStatus(id), ({ disabled, deleted }): FoundSubject => {
    return disabled || deleted ? { reason: 'subject-disabled' } : { caller, isAsserted: true }
  })
}

function judgedSubject(pep: Pep, { id, properties = {} }: SubjectEntity, most: ReadonlySet<string>) {
  const roles = [...new Set(rolesIn(properties))].filter((role) => most.has(role) && isClaimableRole(role))
  const attributes = Object.entries(properties).filter(([name]) => name !== TOKEN && !ROLES.includes(name))
  const caller: Caller = Object.freeze({ id, roles, claims: Object.fromEntries(attributes) })
  return { caller, faults: faultsOfAttributes(pep, attributes) }
}

/** `roles` or `role`: one or a list. */
function rolesIn(properties: NonNullable<SubjectEntity['properties']>): readonly string[] {
  return ROLES.flatMap((member) => {
    const asserted = Object.hasOwn(properties, member) ? [properties[member] ?? []].flat() : []
    if (asserted.every((role) => typeof role === 'string')) return asserted
    const detail = 'must be a role or a list of roles'
    return refuseFaultyMembers([{ pointer: `/subject/properties/${member}`, detail, code: 'type' }])
  })
}

/** Attributes that users records have are of their types. Null is unknown, like a missing one. */
function faultsOfAttributes(
  { resources }: Pep,
  attributes: readonly (readonly [string, Json])[],
): readonly FieldFault[] {
  const users = resources.byName.get(USERS)
  const known = attributes.filter(([name, value]) => name !== 'id' && value !== null && users?.fields.has(name))
  return users ? faultsOf(users, Object.fromEntries(known), '/subject/properties') : []
}

/** Throws StoreUnavailable. */
export function subjectOf(pep: Pep, subject: SubjectEntity): FoundSubject | Promise<FoundSubject> {
  const { type, id } = subject
  const source = pep.trust.subjects.get(type)
  if (!source) return { reason: 'subject-type' }
  if (!isSubject(id)) return { reason: 'subject-unknown' }
  if (source.kind === 'token') return subjectByToken(pep, subject)
  if (source.kind === 'asserted') return subjectByAssertion(pep, subject, source.roles)
  return pep.once(`subject/${id}`, () => {
    return onceKnown(pep.directory.accountStatus(id), (status) => withGranted(pep, subjectByStatus(id, status)))
  })
}

function withGranted({ policy, now }: Pep, found: FoundSubject): FoundSubject {
  if ('reason' in found) return found
  const caller = callerNow(policy, found.caller, now)
  return caller === found.caller ? found : { ...found, caller }
}

/** The same account status gives the same caller, so that the policy's tables are found at once. */
const known = new WeakMap<AccountStatus, { readonly id: string; readonly found: FoundSubject }>()

/** A directory may give people who stand alike one account status: none of them is taken for another. */
function subjectByStatus(id: string, status: AccountStatus): FoundSubject {
  const kept = known.get(status)
  if (kept?.id === id) return kept.found
  const found = judged(id, status)
  known.set(status, { id, found })
  return found
}

function judged(id: string, { roles, disabled, deleted }: AccountStatus): FoundSubject {
  if (disabled) return { reason: 'subject-disabled' }
  if (deleted || roles === undefined) return { reason: 'subject-unknown' }
  return { caller: Object.freeze({ id, roles: roles.filter(isClaimableRole), claims: {} }) }
}
