/** What is known of a request: which relations and conditions hold, why, and which of them may hold together. */

import { MOST_SETS, possibleSets } from '../../analysis/possible-sets.ts'
import { smallestSubsets } from '../../base/subsets.ts'
import { type CallerEntry, type SubjectSource, type Trust, trustOf } from '../../decide/grants/trust.ts'
import { comparedFields, followsFrom, kindOf, leavesOf } from '../../decide/relations/all-kinds.ts'
import { type KnownFacts, type Relation, scalarsOf } from '../../decide/relations/relation-kind.ts'
import {
  conditionHolds,
  describeCondition,
  type RequestCondition,
} from '../../decide/request-conditions/all-conditions.ts'
import { quote } from '../../present/quote.ts'
import { ToolError } from '../load-policy.ts'
import type { ConditionFact, Names, RelationFact } from './explanation.ts'
import {
  declaredRelations,
  type ExplainQuestion,
  explainRoles,
  type HypotheticalRequest,
  relationsAsked,
  type StateChange,
} from './request.ts'

/** The limit of unknown conditions: they make 2^n sets. */
const MOST_UNKNOWN = 6

/** In the order of conditions.yaml. */
export function conditionFacts(question: ExplainQuestion, named: ReadonlySet<string>): readonly ConditionFact[] {
  const { conditions } = question.reviewed.policy
  return [...conditions.values()].filter(({ name }) => named.has(name)).map((one) => conditionFact(question, one))
}

function conditionFact({ assumed, caller, now }: ExplainQuestion, condition: RequestCondition): ConditionFact {
  const { name } = condition
  const held = assumed.conditions?.holds.get(name)
  if (held !== undefined) return { name, holds: held, why: `${assumed.conditions?.from} says so` }
  const asks = describeCondition(condition)
  if (assumed.conditions?.from === 'the record')
    return { name, holds: null, why: `it holds if ${asks}; the record does not hold whether it did` }
  const missing = missingFact(condition, assumed.address, caller.kind)
  if (missing !== undefined) return { name, holds: null, why: `it holds if ${asks}; ${missing}` }
  const holds = conditionHolds(condition, { now, address: assumed.address, hasCredentials: caller.kind === 'caller' })
  return { name, holds, why: holds ? asks : `it holds if ${asks}` }
}

/** What the command line would have to say; undefined if the condition can be decided. */
function missingFact(
  { kind }: RequestCondition,
  address: string | undefined,
  caller: 'caller' | 'anonymous',
): string | undefined {
  switch (kind) {
    case 'hours':
    case 'asserted':
      return undefined
    case 'network':
      return address === undefined ? 'give --address or --with' : undefined
    case 'signedIn':
    case 'credential':
      return caller === 'caller' ? 'give --with' : undefined
  }
}

/** The sets of conditions that may hold, smallest first. Throws ToolError if there are too many. */
export function possibleConditionSets(facts: readonly ConditionFact[]): readonly (readonly string[])[] {
  const unknown = facts.filter(({ holds }) => holds === null)
  if (unknown.length > MOST_UNKNOWN) {
    const names = unknown.map(({ name }) => name).join(', ')
    throw new ToolError(`${unknown.length} conditions are not known (${names}): name those that hold with --with`)
  }
  const certain = facts.filter(({ holds }) => holds === true).map(({ name }) => name)
  return smallestSubsets(unknown).map((set) => [...certain, ...set.map(({ name }) => name)])
}

// ---- How the caller relates to the object of a request, and why, as far as both are known.

/**
 * For each relation of ownership.yaml: whether it holds between the caller and the object (if known), and why; also after
 * an assumed change of states. Throws ToolError if the object has other states.
 */
export function relationFacts(question: ExplainQuestion, request: HypotheticalRequest): readonly RelationFact[] {
  const relations = declaredRelations(request)
  const facts = storedFacts(question, request, relations)
  const { becomes } = request
  return becomes ? factsAfter(becomes, statedFacts(question, becomes, facts), relations) : facts
}

/** Of the object as it is stored. */
function storedFacts(
  question: ExplainQuestion,
  { resource, route }: HypotheticalRequest,
  relations: readonly Relation[],
): readonly RelationFact[] {
  const { known } = question
  if (known.kind === 'relations') {
    return relations.map(({ name }) => {
      if (known.unknown?.has(name)) return { name, holds: null, why: `${known.from} does not hold it` }
      return { name, holds: known.holding.has(name), why: `${known.from} says so` }
    })
  }
  const facts: KnownFacts = {
    hasCredentials: question.caller.kind === 'caller',
    attribute: (name) => attributeOf(question, name),
    object: objectOf(question),
    isOwnRecord: route.kind === 'caller',
    now: question.now,
    related: known.kind === 'object' ? known.related : () => undefined,
  }
  return relations.map((relation) => relationFact(relation, facts, resource.name))
}

/** With the states that the write is assumed to find. */
function statedFacts(
  { known }: ExplainQuestion,
  { states, before, text }: StateChange,
  facts: readonly RelationFact[],
): readonly RelationFact[] {
  const ofStates = known.kind === 'object' ? facts.filter(({ name }) => states.has(name)) : []
  const other = ofStates.find(({ name, holds }) => holds !== null && holds !== before.has(name))
  if (other) {
    const held = ofStates.filter(({ holds }) => holds).map(({ name }) => name)
    throw new ToolError(
      `--becomes ${quote(text)} doesn't begin at the state of the object: it is ${held.join('+') || 'in none of them'} (${other.why})`,
    )
  }
  return facts.map((fact) => {
    const isStated = states.has(fact.name) && (fact.holds === null || known.kind === 'relations')
    return isStated ? { ...fact, holds: before.has(fact.name), why: '--becomes says so' } : fact
  })
}

/** The write changes one field, so the other relations hold as before. */
function factsAfter(
  { states, after }: StateChange,
  facts: readonly RelationFact[],
  relations: readonly Relation[],
): readonly RelationFact[] {
  const known = new Map(facts.map(({ name, holds }) => [name, holds]))
  const holdsAfter = (name: string) => (states.has(name) ? after.has(name) : (known.get(name) ?? null))
  return facts.map((fact) => {
    const relation = relations.find(({ name }) => name === fact.name)
    if (!relation || !leavesOf(relation).some(({ name }) => states.has(name))) return { ...fact, after: fact.holds }
    const certain = followsFrom(relation, ({ name }) => holdsAfter(name) === true)
    const possible = followsFrom(relation, ({ name }) => holdsAfter(name) !== false)
    return { ...fact, after: certain === possible ? certain : null }
  })
}

/** With the objects on which it rests, from this one on. */
function relationFact(relation: Relation, facts: KnownFacts, resource: string): RelationFact {
  const { holds, why, via = [] } = kindOf(relation).explain(relation, facts)
  const start = `${resource}/${String(facts.object.fields.id)}`
  return { name: relation.name, holds, why, ...(via.length > 0 ? { via: [start, ...via] } : {}) }
}

function objectOf({ known }: ExplainQuestion): KnownFacts['object'] {
  if (known.kind === 'object') return { fields: known.object ?? {}, complete: true }
  return { fields: known.id === undefined ? {} : { id: known.id }, complete: false }
}

/** Reads the caller's users record, as the server does; without a record the token's claims would count. */
function attributeOf({ caller, known }: ExplainQuestion, attribute: string): ReturnType<KnownFacts['attribute']> {
  if (attribute === 'id') {
    const id = caller.kind === 'caller' ? caller.subject : undefined
    return { values: id === undefined ? [] : [id], isKnown: id !== undefined }
  }
  const record = known.kind === 'object' ? known.record : undefined
  const value = record && Object.hasOwn(record, attribute) ? record[attribute] : undefined
  return { values: scalarsOf(value), isKnown: record !== undefined }
}

// ---- The sets of relations that may hold for the object of a request, as far as it is known.

/** A set of relations that may hold. */
interface PossibleRelations {
  readonly names: Names
  /** Those without parts, also if no rule names them. */
  readonly leaves: Names
}

/** Throws ToolError if there are too many. Doesn't question what is known. */
export function possibleRelations(
  request: HypotheticalRequest,
  facts: readonly RelationFact[],
): readonly PossibleRelations[] {
  const named = relationsAsked(request)
  const known = new Map(facts.map(({ name, holds }) => [name, holds]))
  const certain = facts.filter(({ holds }) => holds === true).map(({ name }) => name)
  const sets = leafSets(named.flatMap(leavesOf), known, request).map((leaves) => {
    const following = named.filter((relation) => holdsWith(relation, leaves, known)).map(({ name }) => name)
    return { names: new Set([...certain, ...following]), leaves }
  })
  // What a write makes of an object depends on all parts of its relations.
  const keyOf = ({ names, leaves }: PossibleRelations) => [...(request.becomes ? leaves.union(names) : names)]
  return [...new Map(sets.map((set) => [keyOf(set).toSorted().join('+'), set])).values()]
}

type TruthByName = ReadonlyMap<string, boolean | null>

/** What is known of a relation with parts counts more than its parts. */
function holdsWith(relation: Relation, leaves: Names, known: TruthByName): boolean {
  return known.get(relation.name) ?? followsFrom(relation, ({ name }) => leaves.has(name))
}

function leafSets(all: readonly Relation[], known: TruthByName, { resource }: HypotheticalRequest): readonly Names[] {
  const leaves = [...new Set(all)]
  const open = leaves.filter(({ name }) => (known.get(name) ?? null) === null)
  const fields = new Set(open.flatMap(comparedFields))
  // A known leaf limits the others that look at the same field.
  const related = leaves.filter(
    (leaf) => open.includes(leaf) || comparedFields(leaf).some((field) => fields.has(field)),
  )
  const sets = open.length === 0 ? [new Set<string>()] : possibleSets(related, resource)
  if (sets.length >= MOST_SETS) throw tooManyCases()
  const certain = leaves.filter(({ name }) => known.get(name) === true).map(({ name }) => name)
  return sets
    .filter((set) =>
      related.every(({ name }) => open.some((leaf) => leaf.name === name) || set.has(name) === known.get(name)),
    )
    .map((set) => set.union(new Set(certain)))
}

export function tooManyCases(): ToolError {
  return new ToolError(
    'the rules distinguish too many sets of relations and conditions: name those that hold with --relation and ' +
      '--with, or an object with --object',
  )
}

// ---- What callers.yaml lets the caller assert, for a question about a route that answers other services.

const ASKING = 'system/access'

export function trustNotes({ reviewed: { policy }, caller, request }: ExplainQuestion): readonly string[] {
  if (request.kind !== 'route' || request.route.resource !== ASKING || caller.kind !== 'caller') return []
  const roles = new Set(explainRoles(policy, caller).flatMap(({ name, inherits }) => [name, ...inherits]))
  const pep = { caller: caller.subject === undefined ? undefined : { id: caller.subject }, roles }
  const own = pep.caller && policy.callers.get(`user:${pep.caller.id}`)
  const entries = own ? [own] : [...roles].flatMap((role) => policy.callers.get(role) ?? [])
  return [`${countedText(entries)}: ${assertedText(trustOf(policy.callers, pep))}`]
}

function countedText(entries: readonly CallerEntry[]): string {
  const names = entries.map(({ name }) => quote(name)).join(' and ')
  if (entries.length === 0) return 'callers.yaml has no entry for the caller, so the defaults hold'
  return entries.length === 1
    ? `callers.yaml has the entry ${names}`
    : `callers.yaml has the entries ${names}, and what each of them gives counts`
}

function assertedText({ subjects, assertedResources, understandsFields, conditions }: Trust): string {
  const types = [...subjects].map(([type, source]) => `${quote(type)} (${sourceText(source)})`)
  const asserted = [...assertedResources].map(quote)
  return [
    types.length === 0 ? 'it may name no subjects' : `it may name subjects of ${types.join(', ')}`,
    asserted.length === 0
      ? 'objects are as they are stored'
      : `it may assert attributes of ${asserted.join(', ')} for objects that aren't stored`,
    ...(conditions.size === 0 ? [] : [`it may assert the conditions ${[...conditions.keys()].map(quote).join(', ')}`]),
    ...(understandsFields ? ['it heeds `context.fields`'] : []),
  ].join('; ')
}

function sourceText(source: SubjectSource): string {
  if (source.kind === 'directory') return 'from the directory'
  if (source.kind === 'token') return 'by their tokens'
  const roles = [...source.roles].map(quote).join(', ')
  return roles === '' ? 'asserted, without roles' : `asserted, at most ${roles}`
}
