/** What a record holds of its request, in place of the store and of the request: objects, answers, attributes; and what it lacks. */
import { type Caller, credentialKindOf } from '../../decide/caller.ts'
import { comparisonsIn } from '../../decide/conditions/condition.ts'
import { definitionOfCondition, definitionOfRelation, type Facts } from '../../decide/evidence.ts'
import type { FactSource } from '../../decide/facts.ts'
import { comparedAttributes, comparedFields, followsFrom, kindOf, leavesOf } from '../../decide/relations/all-kinds.ts'
import { type KnownFacts, type Relation, scalarsOf } from '../../decide/relations/relation-kind.ts'
import { conditionHolds, type RequestCondition } from '../../decide/request-conditions/all-conditions.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import { type DecisionRecord, MASKED } from '../../decision-log/decision-record.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Endpoint, Json, Resource, Route } from '../../resources/resource.ts'

export interface RecordedRequest {
  readonly route: Route
  readonly endpoint: Endpoint
  readonly resource: Resource
  readonly id: string | undefined
  readonly caller: Caller | undefined
}

/** A decision needs something that the record doesn't hold; the message says this for people. */
export class FactsMissing extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'FactsMissing'
  }
}

/** The record holds the object, but not this answer about it. `what` completes "the record doesn't hold". */
export class AnswerMissing extends FactsMissing {
  constructor(what: string) {
    super(`the record doesn't hold ${what}`)
    this.name = 'AnswerMissing'
  }
}

/** The object that the request names. Throws FactsMissing. */
export function recordedObject({ problem, facts }: DecisionRecord, id: string): StoredObject | undefined {
  if (facts?.object) return storedObject(id, facts.object)
  if (problem === 'object-not-found') return undefined
  throw new FactsMissing('the object was not read then')
}

function storedObject(id: string, fields: Readonly<Record<string, Json>>): StoredObject {
  const { createdAt, updatedAt, ...document } = fields
  return { id, version: 1, createdAt: textOf(createdAt), updatedAt: textOf(updatedAt), document }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

// ---- The answers that a record holds to conditions of the request and to relations that rest on other objects. An
// answer counts where the policy that decides again has the same definition, whatever its name.

/** `when`: about the stored (or created) object, or about the object after the write. Throws AnswerMissing. */
export function recordedLookups(
  { facts = {} }: DecisionRecord,
  when: 'related' | 'relatedAfter',
): FactSource['lookup'] {
  return (_lookup, relation) => {
    const held = answerOf(facts, when, definitionOfRelation(relation))
    if (held === undefined) throw new AnswerMissing(`whether the relation \`${relation.name}\` held`)
    return held
  }
}

/**
 * For each relation of a policy, whether it held between the caller and the object that was looked at: by its answer, or
 * else by the values that the record holds; null where the record doesn't tell.
 */
export function recordedRelations(
  { authentication, subject, objectId, facts = {}, time }: DecisionRecord,
  relations: readonly Relation[],
  { isOwnRecord }: { readonly isOwnRecord: boolean },
): ReadonlyMap<string, boolean | null> {
  const told = (values: Readonly<Record<string, Json>>) =>
    Object.fromEntries(Object.entries(values).filter(([, value]) => value !== MASKED))
  const stored = facts.object ?? facts.proposed ?? {}
  const known: KnownFacts = {
    hasCredentials: authentication === 'caller',
    now: Date.parse(time),
    attribute: (name) => {
      if (name === 'id') return { values: subject === undefined ? [] : [subject], isKnown: subject !== undefined }
      const isKnown = !isUnknown(facts.attributes, name)
      return { values: isKnown ? scalarsOf(facts.attributes?.[name]) : [], isKnown }
    },
    object: { fields: told({ ...(objectId !== undefined && { id: objectId }), ...stored }), complete: false },
    isOwnRecord,
    related: () => undefined,
  }
  const holdsLeaf = (leaf: Relation): boolean | null =>
    answerOf(facts, 'related', definitionOfRelation(leaf)) ?? kindOf(leaf).explain(leaf, known).holds
  return new Map(
    relations.map((relation) => {
      const held = new Map(leavesOf(relation).map((leaf) => [leaf.name, holdsLeaf(leaf)]))
      const certain = followsFrom(relation, ({ name }) => held.get(name) === true)
      const possible = followsFrom(relation, ({ name }) => held.get(name) !== false)
      return [relation.name, certain === possible ? certain : null]
    }),
  )
}

/** Whether a condition held: by its answer, or else by what the record holds of the request. Throws AnswerMissing. */
export function recordedConditions(
  record: DecisionRecord,
  request: Pick<RecordedRequest, 'caller'>,
): (condition: RequestCondition) => boolean {
  return (condition) => {
    const held = answerOf(record.facts ?? {}, 'conditions', definitionOfCondition(condition))
    if (held !== undefined) return held
    const unknown = unknownTo(condition, record, request)
    if (unknown !== undefined) throw new AnswerMissing(unknown)
    const { signedIn, credential } = record
    return conditionHolds(condition, {
      now: Date.parse(record.time),
      address: record.address?.replace(NETWORK_END, ''),
      credential: request.caller && credentialKindOf({ credential }),
      authTime: signedIn?.at === undefined ? undefined : Date.parse(signedIn.at),
      acr: signedIn?.acr,
      hasCredentials: request.caller !== undefined,
    })
  }
}

function answerOf(facts: Facts, member: 'conditions' | 'related' | 'relatedAfter', definition: string) {
  const answers = Object.entries(facts[member] ?? {})
  return answers.find(([name]) => facts.definitions?.[name] === definition)?.[1]
}

/** Records keep the network of an IPv6 address: its first 64 bits. */
const NETWORK_BITS = 64
const NETWORK_END = `/${NETWORK_BITS}`

/** What the record doesn't hold of all that the condition looks at; undefined if nothing is missing. */
function unknownTo(
  condition: RequestCondition,
  { address, credential, signedIn }: DecisionRecord,
  { caller }: Pick<RecordedRequest, 'caller'>,
): string | undefined {
  switch (condition.kind) {
    case 'network': {
      const isUnknown = address === MASKED || (address?.endsWith(NETWORK_END) && isFine(condition.networks))
      return isUnknown ? "the client's whole address" : undefined
    }
    case 'signedIn': {
      const isUnknown = caller && signedIn === undefined && credentialKindOf({ credential }) !== 'api-key'
      return isUnknown ? 'when and how the caller signed in' : undefined
    }
    default:
      return undefined
  }
}

/** Whether some of these networks are smaller than the network of an address in a record. */
function isFine(networks: readonly string[]): boolean {
  return networks.some((network) => Number(network.split('/')[1]) > NETWORK_BITS)
}

// ---- Whether a record holds everything that a policy would look at: another policy may compare values that it
// lacks.

/** A sentence for people about what is missing; undefined if nothing is missing. */
export async function unknownFact(
  snapshot: Snapshot,
  request: RecordedRequest,
  record: DecisionRecord,
): Promise<string | undefined> {
  const { facts = {} } = record
  if (facts.where && comparisonsIn(facts.where).some(({ value }) => value === MASKED))
    return "the record doesn't hold what the list was filtered by"
  const compared = await comparedFor(snapshot, request, record)
  return compared.map((relation) => unknownIn(facts, request, relation)).find((what) => what !== undefined)
}

/** The relations that a decision would look at. */
async function comparedFor(
  snapshot: Snapshot,
  { route, endpoint, caller }: RecordedRequest,
  { problem, facts, forwarded }: DecisionRecord,
): Promise<readonly Relation[]> {
  if (endpoint.operation === 'options') return []
  const subject = snapshot.subjectOf(caller)
  const table = await snapshot.table(subject, route.resource, endpoint.action)
  // Refused whatever attributes the caller has.
  if (!table.roleLevel(() => caller !== undefined).allowed) return []
  if (route.redirect || forwarded || (problem === 'object-not-found' && !facts?.object)) {
    // Answered before caller and object are compared: only the role level may ask for attributes.
    const passes = table.roleLevel((attribute) => caller !== undefined && attribute === 'id').allowed
    return passes ? [] : table.compared
  }
  const { compared } = await snapshot.table(subject, route.resource, 'read')
  return [...table.compared, ...compared]
}

function unknownIn(facts: Facts, { caller }: RecordedRequest, relation: Relation): string | undefined {
  const attributes = comparedAttributes(relation).filter((name) => name !== 'id')
  const attribute = caller && attributes.find((name) => isUnknown(facts.attributes, name))
  if (attribute !== undefined) return `the record doesn't hold the caller's \`${attribute}\``
  const objects = [facts.object, facts.proposed]
  const field = comparedFields(relation).find((name) => objects.some((values) => values && isUnknown(values, name)))
  return field && `the record doesn't hold the object's \`${field}\``
}

/** A field that an object doesn't have is recorded as null. */
export function isUnknown(values: Readonly<Record<string, unknown>> | undefined, name: string): boolean {
  return values === undefined || !Object.hasOwn(values, name) || values[name] === MASKED
}

// ---- The fields that an answer shows, according to the facts of its decision: then, and under another policy.

/** For a list: the fields that some row may show and the query asks for; sorted. */
export function shownFields({ shown = [] }: Facts, { selected }: Facts): readonly string[] {
  return cut(shown, selected)
}

/** Whether the rows of a list may show different fields; also true if the facts don't show it. */
export function differsByRow(facts: Facts, asked: Facts): boolean {
  return cut(facts.everywhere ?? [], asked.selected).length < shownFields(facts, asked).length
}

function cut(fields: readonly string[], selected: readonly string[] | undefined): readonly string[] {
  return fields.filter((field) => !selected || selected.includes(field)).toSorted()
}
