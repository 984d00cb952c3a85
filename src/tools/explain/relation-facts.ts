/** For each relation of ownership.yaml: whether it holds between the caller and the object, as far as is known, and why. */
import { kindOf } from '../../decide/relations/relation.ts'
import type { Known } from '../../decide/relations/relation-kind.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Json } from '../../resources/resource.ts'
import type { RelationFact } from './explanation.ts'
import type { Question } from './question.ts'
import type { SupposedRequest } from './supposed-request.ts'

export function relationFacts(
  question: Question,
  { parsed, resource, route }: SupposedRequest,
): readonly RelationFact[] {
  const { known } = question
  const relations = [...(parsed.ownership.get(resource.name)?.relations.values() ?? [])]
  if (known.kind === 'relations') {
    return relations.map(({ name }) => ({ name, holds: known.holding.has(name), why: `${known.from} says so` }))
  }
  const facts: Known = {
    hasCredentials: question.caller.kind === 'caller',
    attribute: (name) => attributeOf(question, name),
    object: objectOf(question),
    isOwnRecord: route.kind === 'caller',
  }
  return relations.map((relation) => ({ name: relation.name, ...kindOf(relation).explain(relation, facts) }))
}

function objectOf({ known }: Question): Known['object'] {
  if (known.kind === 'object') return { fields: known.object ?? {}, complete: true }
  return { fields: known.id === undefined ? {} : { id: known.id }, complete: false }
}

/** From the caller's users record, as the server does; without a record the token's claims would count. */
function attributeOf({ caller, known }: Question, attribute: string): ReturnType<Known['attribute']> {
  if (attribute === 'id') {
    const id = caller.kind === 'caller' ? caller.subject : undefined
    return { value: id, isKnown: id !== undefined }
  }
  const record = known.kind === 'object' ? known.record : undefined
  const value = record && Object.hasOwn(record, attribute) ? record[attribute] : undefined
  return { value: isScalar(value) ? value : undefined, isKnown: record !== undefined }
}

function isScalar(value: Json | undefined): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}
