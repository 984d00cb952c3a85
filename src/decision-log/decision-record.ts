/** The record of a request: who asked for what, how it was decided, and all facts needed to decide it again. */
import { isObject } from '../base/is-object.ts'
import { isCondition } from '../decide/conditions/condition.ts'
import type { Facts } from '../decide/evidence.ts'

/** Replaces a masked value. */
export const MASKED = '***'

export interface DecisionRecord {
  /** The time of the request: RFC 3339, UTC, milliseconds. */
  readonly time: string
  readonly requestId: string
  /** Of the trace that the request is in (docs/telemetry.md). */
  readonly traceId?: string | undefined
  /** For a request of a batch: the `requestId` of the batch. */
  readonly batch?: string | undefined
  /** The instance that answered (INSTANCE). */
  readonly instance?: string | undefined
  readonly revision: string
  readonly method: string
  readonly address?: string | undefined
  /** The path as the schema file writes it. */
  readonly route?: string | undefined
  readonly resource?: string | undefined
  readonly action?: string | undefined
  /** The object that the path names, whose objects the request is about (`/projects/{projectId}/tasks`). */
  readonly parent?: OtherObject | undefined
  readonly objectId?: string | undefined
  readonly subject?: string | undefined
  readonly roles?: readonly string[] | undefined
  /** Roles that count for nothing, because guarantees keep them apart; for an API key, also those of the users record. */
  readonly rolesLost?: readonly string[] | undefined
  /** The numbers of the grants that give the caller some of `roles` for a time (`access grants`). */
  readonly grants?: readonly number[] | undefined
  /** The number of the one among them that one person made alone, in an emergency. */
  readonly breakGlass?: number | undefined
  readonly authentication?: string | undefined
  /** The credential, if the subject doesn't show it: `key <id>` of an API key, `issuer <URL>` of a provider's token. */
  readonly credential?: string | undefined
  /** The time and the class (`acr`) of the sign-in, as far as the credential has them; absent for API keys. */
  readonly signedIn?: { readonly at?: string | undefined; readonly acr?: string | undefined } | undefined
  /** The reason why a credential was refused. */
  readonly reason?: string | undefined
  readonly outcome: 'allowed' | 'refused' | 'failed'
  /** The code of the answered problem (docs/problems.md). */
  readonly problem?: string | undefined
  readonly status: number
  readonly relations?: readonly string[] | undefined
  /** The lines that decided, such as `policy.csv:14`. */
  readonly rules?: readonly string[] | undefined
  readonly fieldsRefused?: readonly string[] | undefined
  /** The answer showed what the caller can do with each object (`?can=true`). */
  readonly can?: true | undefined
  /** What the answer told of all objects of the list together (`?aggregate`), as it was asked for. */
  readonly aggregate?: readonly string[] | undefined
  /** The objects that the answer showed beside those of the request (`?expand`). */
  readonly expanded?: readonly OtherObject[] | undefined
  /**
   * For a delete: the objects that referred to the deleted one, and were changed or deleted with it. For a command: those
   * that it created.
   */
  readonly along?: ObjectsAlong | undefined
  /** For a batch of a migration: the ids of the objects that it changed or deleted. */
  readonly migrated?: { readonly changed: readonly string[]; readonly deleted: readonly string[] } | undefined
  /** For a command: its arguments and options, as they were typed. */
  readonly arguments?: readonly string[] | undefined
  /** For a start of the server: the version of the program, and what was set, without secrets. */
  readonly version?: string | undefined
  readonly settings?: Readonly<Record<string, string>> | undefined
  /** For another policy in force: the revision before it. */
  readonly previous?: string | undefined
  /** What the receiver of a subscription has taken, or one event that was given up, under the credential of the record. */
  readonly delivered?: DeliveredRecord | undefined
  /** For the end of a stream of events, under the `requestId` of its request. */
  readonly followed?: FollowedRecord | undefined
  /** The number of records that couldn't be written, before this one. */
  readonly lost?: number | undefined
  /** Asked by a gateway about its client's request; `gateway`: its subject, if it proved it. */
  readonly forwarded?: { readonly profile: string; readonly gateway?: string | undefined } | undefined
  /** From the request to its answer; for a write, until the record is given to the store. */
  readonly microseconds: number
  readonly facts?: Facts | undefined
  /** What another service asked, and how it was decided (docs/authzen.md). */
  readonly asked?: readonly AskedRecord[] | undefined
  /** What another service searched for, and what it found. */
  readonly searched?: SearchRecord | undefined
  /** Facts that would make the record too long are left out. */
  readonly cut?: true | undefined
  /** For a refusal by a limit: how many alike it stands for, itself included, since the last one that was recorded. */
  readonly repeated?: number | undefined
  /** The salts of the two personal parts (sealed-line.ts): who asked, and what is known. */
  readonly sealed?: string | undefined
  readonly sealedFacts?: string | undefined
  /** Erased: who asked (address, subject, credential, sign-in). Reads as if masked. */
  readonly erased?: string | undefined
  /** Erased: what is known (object id, its parent, facts, questions, searches, ids of a migration). Reads as if the facts were cut. */
  readonly erasedFacts?: string | undefined
  /** For a write, its number in the outbox, which grows in the order of the commits. */
  readonly write?: number | undefined
}

interface ObjectsAlong {
  readonly changed: readonly OtherObject[]
  readonly deleted: readonly OtherObject[]
  readonly created?: readonly OtherObject[]
}

interface DeliveredRecord {
  readonly subscription: string
  /** The host. */
  readonly to: string
  readonly events: number
  /** The number of the last one. */
  readonly last: number
}

export interface FollowedRecord {
  /**
   * `client`: it left. `slow`: it read too slowly. `hour`: the longest time was over. `stop`: the server stopped.
   * `refused`: its next request would get the problem of the record. `failed`: a fault of the server.
   */
  readonly end: 'client' | 'slow' | 'hour' | 'stop' | 'refused' | 'failed'
  /** How many were told. */
  readonly events: number
  readonly seconds: number
}

interface OtherObject {
  readonly resource: string
  readonly objectId: string
}

/** One question of another service: the subject, the object, the action, and the decision with its evidence. */
export interface AskedRecord
  extends Pick<
    DecisionRecord,
    | 'subject'
    | 'roles'
    | 'rolesLost'
    | 'grants'
    | 'breakGlass'
    | 'resource'
    | 'objectId'
    | 'action'
    | 'reason'
    | 'relations'
    | 'rules'
    | 'fieldsRefused'
    | 'facts'
  > {
  /** Absent for `user`. */
  readonly subjectType?: string | undefined
  /** Empty: the whole object. The first 100; `?` for those that no schema declares; absent where no rule was asked. */
  readonly fieldsAsked?: readonly string[] | undefined
  readonly decision: boolean
  /** The place of the question of the same record, from 0, that has the same facts. */
  readonly factsOf?: number | undefined
  /** Too long to be recorded whole. */
  readonly cut?: true | undefined
}

/** In a record. */
export const MOST_FIELDS_ASKED = 100

/** A page of a search of another service: each candidate was decided like an evaluation. */
export interface SearchRecord extends Pick<DecisionRecord, 'subject' | 'resource' | 'objectId' | 'action'> {
  readonly for: 'subject' | 'resource' | 'action'
  /** Absent for `user`. */
  readonly subjectType?: string | undefined
  /** How many candidates were decided. */
  readonly candidates: number
  /** The ids, or the names of actions, that were found. */
  readonly found: readonly string[]
}

/** In characters: of an unknown name or id, so that invented ones don't fill the log. */
const LONGEST_UNKNOWN = 128

export function cutName(name: string): string {
  return name.length > LONGEST_UNKNOWN ? `${name.slice(0, LONGEST_UNKNOWN)}…` : name
}

/** These records are of commands, migrations, and what the server does by itself: nobody asks for it over HTTP. */
const OTHER_METHODS: ReadonlySet<string> = new Set(['COMMAND', 'MIGRATE', 'SERVER'])

/** No client can send the other methods, because Node refuses unknown ones; a gateway can describe any. */
export function isOfRequest({ method, forwarded }: DecisionRecord): boolean {
  return !OTHER_METHODS.has(method) || forwarded !== undefined
}

type RecordMembers = Readonly<Record<string, unknown>>

/** The members of every record of this version. */
const REQUIRED = ['time', 'requestId', 'method', 'outcome', 'status'] as const

/** Undefined for a line that a crash cut off, or for a line of another program. */
export function parseRecord(line: string): DecisionRecord | undefined {
  const value = parseMembers(line)
  if (!value || unusableMember(value, REQUIRED) !== undefined) return undefined
  const { erased, erasedFacts, ...record } = value as unknown as DecisionRecord
  if (erased === undefined && erasedFacts === undefined) return record
  return {
    ...record,
    ...(erased !== undefined && { erased, subject: MASKED, address: MASKED }),
    ...(erasedFacts !== undefined && { erasedFacts, objectId: MASKED, cut: true }),
  }
}

/** The members of a JSON object; undefined for other text. */
export function parseMembers(line: string): RecordMembers | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The first member that is missing although it is `required`, or whose value has the wrong kind. */
export function unusableMember(record: RecordMembers, required: readonly (keyof DecisionRecord)[]): string | undefined {
  return required.find((name) => record[name] === undefined) ?? KINDS.find(([name, is]) => !is(record[name]))?.[0]
}

/** Whether a value, if there is one, has the kind of the member. */
const KINDS = Object.entries<(value: unknown) => boolean>({
  time: isTime,
  requestId: isText,
  traceId: isText,
  batch: isText,
  instance: isText,
  revision: isText,
  method: isText,
  route: isText,
  parent: (value) => value === undefined || (isObject(value) && isText(value.objectId)),
  objectId: isText,
  subject: isText,
  roles: areTexts,
  rolesLost: areTexts,
  grants: areNumbers,
  breakGlass: isNumber,
  authentication: isText,
  address: isText,
  credential: isText,
  signedIn: isSignIn,
  outcome: isText,
  problem: isText,
  status: isNumber,
  relations: areTexts,
  rules: areTexts,
  fieldsRefused: areTexts,
  aggregate: areTexts,
  facts: areFacts,
  asked: areAsked,
  forwarded: isForwarded,
  arguments: areTexts,
  version: isText,
  settings: (value) => areAll(value, 'string'),
  previous: isText,
  delivered: isDelivered,
  followed: isFollowed,
  lost: isNumber,
})

function isTime(value: unknown): boolean {
  return isText(value) && (value === undefined || !Number.isNaN(Date.parse(value as string)))
}

function isText(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function isNumber(value: unknown): boolean {
  return value === undefined || typeof value === 'number'
}

function areNumbers(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((one) => typeof one === 'number'))
}

function isSignIn(value: unknown): boolean {
  return value === undefined || (isObject(value) && isTime(value.at) && isText(value.acr))
}

function areAsked(asked: unknown): boolean {
  return asked === undefined || (Array.isArray(asked) && asked.every((one) => isObject(one) && areFacts(one.facts)))
}

function isForwarded(value: unknown): boolean {
  return value === undefined || (isObject(value) && typeof value.profile === 'string' && isText(value.gateway))
}

function isDelivered(value: unknown): boolean {
  if (value === undefined) return true
  return isObject(value) && ['subscription', 'to'].every((name) => typeof value[name] === 'string')
}

function isFollowed(value: unknown): boolean {
  return value === undefined || (isObject(value) && isText(value.end) && isNumber(value.events))
}

function areFacts(facts: unknown): boolean {
  if (facts === undefined) return true
  if (!isObject(facts)) return false
  return (
    ['attributes', 'object', 'proposed'].every((name) => facts[name] === undefined || isObject(facts[name])) &&
    ['changed', 'named', 'chosen', 'read', 'removed', 'queried', 'selected', 'everywhere', 'shown'].every((name) =>
      areTexts(facts[name]),
    ) &&
    ['conditions', 'related', 'relatedAfter'].every((name) => areAll(facts[name], 'boolean')) &&
    areAll(facts.definitions, 'string') &&
    (facts.where === undefined || isCondition(facts.where))
  )
}

/** Whether the value, if there is one, is an object whose members have this type. */
function areAll(value: unknown, type: 'boolean' | 'string'): boolean {
  return value === undefined || (isObject(value) && Object.values(value).every((one) => typeof one === type))
}

function areTexts(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((one) => typeof one === 'string'))
}

/** An absent member doesn't restrict. If a member has several values, one must fit. */
export interface RecordFilter {
  readonly method?: readonly string[]
  readonly role?: readonly string[]
  readonly resource?: readonly string[]
  readonly action?: readonly string[]
  readonly subject?: readonly string[]
  readonly credential?: readonly string[]
  readonly outcome?: readonly string[]
  readonly status?: readonly number[]
  readonly route?: readonly string[]
  /** Lines of the policy that decided, like `policy.csv:14`. */
  readonly rule?: readonly string[]
  readonly requestId?: readonly string[]
  readonly traceId?: readonly string[]
  readonly batch?: readonly string[]
  readonly instance?: readonly string[]
  /** From `since` until before `until`, in milliseconds since the epoch. */
  readonly since?: number
  readonly until?: number
}

export function fitsFilter(record: DecisionRecord, filter: RecordFilter): boolean {
  const time = Date.parse(record.time)
  return (
    has(filter.method, record.method) &&
    has(filter.resource, record.resource) &&
    has(filter.action, record.action) &&
    has(filter.subject, record.subject) &&
    has(filter.credential, record.credential) &&
    has(filter.outcome, record.outcome) &&
    has(filter.status, record.status) &&
    has(filter.route, record.route) &&
    has(filter.requestId, record.requestId) &&
    has(filter.traceId, record.traceId) &&
    has(filter.batch, record.batch) &&
    has(filter.instance, record.instance) &&
    hasOne(filter.role, record.roles) &&
    hasOne(filter.rule, record.rules) &&
    time >= (filter.since ?? Number.NEGATIVE_INFINITY) &&
    time < (filter.until ?? Number.POSITIVE_INFINITY)
  )
}

function has<T>(wanted: readonly T[] | undefined, value: T | undefined): boolean {
  return wanted === undefined || (value !== undefined && wanted.includes(value))
}

function hasOne(wanted: readonly string[] | undefined, values: readonly string[] = []): boolean {
  return wanted === undefined || wanted.some((one) => values.includes(one))
}
