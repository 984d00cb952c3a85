/** How the caller relates to the object: for each relation of ownership.yaml whether it holds, as far as is known, and why. */

import type { Ownership } from '../../decide/policy.ts'
import { kindOf } from '../../decide/relations/relation.ts'
import type { Has, Known } from '../../decide/relations/relation-kind.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Json, Representation } from '../../resources/resource.ts'
import type { RelationFact } from './explanation.ts'
import type { AskingCaller, KnownObject, Question } from './question.ts'

/** What relations are told from. */
export interface Sources extends Pick<Known, 'object' | 'isOwnRecord'> {
  readonly caller: AskingCaller
  /** The caller's users record; undefined when none was found or looked for. */
  readonly record: Representation | undefined
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
  const { caller, object, isOwnRecord } = sources
  const attribute = (name: string) => attributeOf(sources, name)
  const known: Known = { hasCredentials: caller.kind === 'caller', attribute, object, isOwnRecord }
  return [...(ownership?.relations.values() ?? [])].map((relation) => {
    return { name: relation.name, ...kindOf(relation).explain(relation, known) }
  })
}

/** From the caller's users record, as the server does; where there is none, a token's claims would count. */
function attributeOf({ caller, record }: Sources, attribute: string): ReturnType<Known['attribute']> {
  if (attribute === 'id') {
    const id = caller.kind === 'caller' ? caller.subject : undefined
    return { value: id, isKnown: id !== undefined }
  }
  const value = record && Object.hasOwn(record, attribute) ? record[attribute] : undefined
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
    if (record) return Object.hasOwn(record, name) && isScalar(record[name])
    return attributes === undefined || !Object.hasOwn(attributes, name) || isScalar(attributes[name])
  }
}

function isScalar(value: Json | undefined): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}
