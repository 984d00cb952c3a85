/** How the caller relates to the object of a request, and why, as far as both are known. */
import { followsFrom, kindOf, leavesOf } from '../../../decide/relations/all-kinds.ts'
import { type KnownFacts, type Relation, scalarsOf } from '../../../decide/relations/relation-kind.ts'
import { quote } from '../../../present/quote.ts'
import { ToolError } from '../../load-policy.ts'
import type { RelationFact } from '../explanation.ts'
import type { ExplainQuestion } from '../question.ts'
import { declaredRelations, type SupposedRequest } from '../supposed-request.ts'
import type { StateChange } from './state-change.ts'

/**
 * For each relation of ownership.yaml: whether it holds between the caller and the object (if known), and why; also after
 * a supposed change of states. Throws ToolError if the object has other states.
 */
export function relationFacts(question: ExplainQuestion, request: SupposedRequest): readonly RelationFact[] {
  const relations = declaredRelations(request)
  const facts = storedFacts(question, request, relations)
  const { becomes } = request
  return becomes ? factsAfter(becomes, statedFacts(question, becomes, facts), relations) : facts
}

/** Of the object as it is stored. */
function storedFacts(
  question: ExplainQuestion,
  { resource, route }: SupposedRequest,
  relations: readonly Relation[],
): readonly RelationFact[] {
  const { known } = question
  if (known.kind === 'relations') {
    return relations.map(({ name }) => ({ name, holds: known.holding.has(name), why: `${known.from} says so` }))
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

/** With the states that the write is supposed to find. */
function statedFacts(
  { known }: ExplainQuestion,
  { states, before, text }: StateChange,
  facts: readonly RelationFact[],
): readonly RelationFact[] {
  const told = known.kind === 'object' ? facts.filter(({ name }) => states.has(name)) : []
  const other = told.find(({ name, holds }) => holds !== null && holds !== before.has(name))
  if (other) {
    const held = told.filter(({ holds }) => holds).map(({ name }) => name)
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
