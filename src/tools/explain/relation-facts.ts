/** How the caller relates to the object of a request, and why, as far as both are known. */
import { kindOf } from '../../decide/relations/all-kinds.ts'
import { type KnownFacts, type Relation, scalarsOf } from '../../decide/relations/relation-kind.ts'
import type { RelationFact } from './explanation.ts'
import type { ExplainQuestion } from './question.ts'
import type { SupposedRequest } from './supposed-request.ts'

/** For each relation of ownership.yaml: whether it holds between the caller and the object (if known), and why. */
export function relationFacts(
  question: ExplainQuestion,
  { parsed, resource, route }: SupposedRequest,
): readonly RelationFact[] {
  const { known } = question
  const relations = [...(parsed.ownership.get(resource.name)?.relations.values() ?? [])]
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
