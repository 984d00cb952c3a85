/** How the caller relates to the object: for each relation of ownership.yaml whether it holds, as far as is known, and why. */

import { meets } from '../../decide/condition.ts'
import type { Has } from '../../decide/grants/role-level.ts'
import type { Ownership, Relation } from '../../decide/policy.ts'
import { type AttributeOf, conditionOf } from '../../decide/relations/ownership.ts'
import { quote } from '../../present/quote.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Json, Representation } from '../../resources/resource.ts'
import type { RelationFact } from './explanation.ts'
import type { AskingCaller, KnownObject, Question } from './question.ts'

/** What relations are told from. */
export interface Sources {
  readonly caller: AskingCaller
  /** The caller's users record; undefined when none was found or looked for. */
  readonly record: Representation | undefined
  /** Fields of the object: all of them, or the id alone, or none. */
  readonly object: { readonly fields: Representation; readonly complete: boolean }
  /** The object is the caller's own record, whoever that is. */
  readonly isOwnRecord: boolean
}

interface Side {
  readonly value: Scalar | undefined
  readonly isKnown: boolean
}

/** Exactly these relations hold, because somebody says so. */
export function assumeRelations(
  ownership: Ownership | undefined,
  { holding, from }: Extract<KnownObject, { kind: 'relations' }>,
): readonly RelationFact[] {
  return [...(ownership?.relations.values() ?? [])].map(({ name }) => {
    return { name, holds: holding.has(name), why: `${from} says so` }
  })
}

export function tellRelations(ownership: Ownership | undefined, sources: Sources): RelationFact[] {
  return [...(ownership?.relations.values() ?? [])].map((relation) =>
    relation.kind === 'state' ? tellState(relation, sources) : tellCaller(relation, sources),
  )
}

/** What a relation asks for: `customerId is the caller`, `status is draft`. */
export function describeRelation(relation: Relation): string {
  if (relation.kind === 'state') return `${relation.field} is ${orList(relation.values)}`
  return `${relation.field} is ${relation.attribute === 'id' ? 'the caller' : `the caller's ${relation.attribute}`}`
}

/** Whether a relation always holds for the caller's own record. */
export function isOwnRecord(relation: Relation): boolean {
  return relation.kind === 'caller' && relation.field === 'id' && relation.attribute === 'id'
}

function tellState(relation: Extract<Relation, { kind: 'state' }>, { object }: Sources): RelationFact {
  if (!isTold(object, relation.field)) return unknown(relation)
  const holds = meets(
    conditionOf(relation, () => undefined),
    object.fields,
  )
  const value = fieldOf(object.fields, relation.field)
  const found = `${relation.field} ${Array.isArray(value) ? 'has' : 'is'} ${shown(value)}`
  return { name: relation.name, holds, why: holds ? found : `${found}, not ${orList(relation.values)}` }
}

function tellCaller(relation: Extract<Relation, { kind: 'caller' }>, sources: Sources): RelationFact {
  const { name, field, attribute } = relation
  if (sources.caller.kind === 'anonymous') return { name, holds: false, why: 'nobody is sources without credentials' }
  if (sources.isOwnRecord && isOwnRecord(relation))
    return { name, holds: true, why: "the path shows the caller's own record" }
  const mine = attributeOf(sources, attribute)
  if (!mine.isKnown || !isTold(sources.object, field)) return unknown(relation, mine)
  const { value } = mine
  if (value === undefined) return { name, holds: false, why: `the caller has no ${attribute} to compare with` }
  const asked: AttributeOf = () => value
  const holds = meets(conditionOf(relation, asked), sources.object.fields)
  return { name, holds, why: compared(relation, fieldOf(sources.object.fields, field), value, holds) }
}

/** From the caller's users record, as the server does; where there is none, a token's claims would count. */
function attributeOf({ caller, record }: Sources, attribute: string): Side {
  if (attribute === 'id') {
    const id = caller.kind === 'caller' ? caller.subject : undefined
    return { value: id, isKnown: id !== undefined }
  }
  const value = record && fieldOf(record, attribute)
  return { value: isScalar(value) ? value : undefined, isKnown: record !== undefined }
}

/**
 * Whether the caller has an attribute: no caller without credentials has any. One with credentials may have whatever isn't
 * known.
 */
export function hasOf({ caller, known, attributes }: Pick<Question, 'caller' | 'known' | 'attributes'>): Has {
  if (caller.kind === 'anonymous') return () => false
  const record = known.kind === 'object' ? known.record : undefined
  return (name) => {
    if (name === 'id') return true
    if (record) return isScalar(fieldOf(record, name))
    return attributes === undefined || !Object.hasOwn(attributes, name) || isScalar(attributes[name])
  }
}

function compared(
  { field, attribute }: Extract<Relation, { kind: 'caller' }>,
  found: Json | undefined,
  value: Scalar,
  holds: boolean,
): string {
  const mine = attribute === 'id' ? 'the caller' : `the caller's ${attribute}`
  if (holds)
    return Array.isArray(found) ? `${field} has ${quote(value)}, ${mine}` : `${field} is ${quote(value)}, ${mine}`
  return `${field} ${Array.isArray(found) ? 'has' : 'is'} ${shown(found)}, not ${mine} (${quote(value)})`
}

function unknown(relation: Relation, mine?: Side): RelationFact {
  const { name } = relation
  const asks = `it holds if ${describeRelation(relation)}`
  if (relation.kind === 'state' || !mine || mine.isKnown) return { name, holds: null, why: asks }
  if (relation.attribute === 'id') return { name, holds: null, why: asks }
  return { name, holds: null, why: `${asks}, which the caller's users record or token says` }
}

function isTold({ fields, complete }: Sources['object'], field: string): boolean {
  return complete || Object.hasOwn(fields, field)
}

function fieldOf(object: Representation, field: string): Json | undefined {
  return Object.hasOwn(object, field) ? object[field] : undefined
}

function shown(value: Json | undefined): string {
  if (value === undefined || value === null) return 'absent'
  if (Array.isArray(value)) return value.length === 0 ? 'nothing' : value.slice(0, 3).map(quote).join(', ')
  return quote(value)
}

function orList(values: readonly Scalar[]): string {
  return values.map(quote).join(' or ')
}

function isScalar(value: Json | undefined): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}
