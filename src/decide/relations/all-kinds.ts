/** Relations of every kind: how a caller relates to an object. A new kind is a new file and a line in `KINDS`. */
import { type AttributeRelation, attribute } from './attribute.ts'
import type { AcceptedValues, Declaration, RelationKind } from './relation-kind.ts'
import { type StateRelation, state } from './state.ts'

export type Relation = AttributeRelation | StateRelation

const KINDS: Readonly<Record<Relation['kind'], RelationKind<Relation>>> = { attribute, state }

/** The kind answers every question about the relation. */
export function kindOf({ kind }: Relation): RelationKind<Relation> {
  return KINDS[kind]
}

/**
 * Makes a relation from its form in ownership.yaml; undefined if there was a fault, which is reported to
 * `declaration.fault`.
 */
export function parseRelation(name: string, form: unknown, declaration: Declaration): Relation | undefined {
  const kind = Object.values(KINDS).find(({ isForm }) => isForm(form))
  if (!kind) throw new Error(`no kind of relation has the form of ${name}, which the JSON schema lets pass`)
  return kind.parse(name, form, declaration)
}

/** Whether it can hold only for callers with credentials. */
export function needsCaller(relation: Relation): boolean {
  return !kindOf(relation).couldHold(relation, () => false)
}

/** Whether it holds for the caller's own record, whoever the caller is. */
export function holdsForOwnRecord(relation: Relation): boolean {
  const { field, attribute } = kindOf(relation).equates?.(relation) ?? {}
  return field === 'id' && attribute === 'id'
}

export function comparedFields(relation: Relation): readonly string[] {
  return kindOf(relation).fields(relation)
}

/** `id` included. */
export function comparedAttributes(relation: Relation): readonly string[] {
  return kindOf(relation).attributes(relation)
}

export function meaningOf(relation: Relation): string {
  return kindOf(relation).meaning(relation)
}

export function describeRelation(relation: Relation): string {
  return kindOf(relation).describe(relation)
}

/** The values that it accepts for every caller; undefined if that depends on the caller, or on more than one field. */
export function valuesWhoeverAsks(relation: Relation): AcceptedValues | undefined {
  return comparedAttributes(relation).length === 0 ? kindOf(relation).accepted?.(relation, () => undefined) : undefined
}
