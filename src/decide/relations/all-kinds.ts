/** Relations of every kind: how a caller relates to an object. A new kind is a new file and a line in `KINDS`. */
import { attribute } from './attribute.ts'
import { compositeKind } from './composite.ts'
import { datetime } from './datetime.ts'
import { range } from './range.ts'
import type { AcceptedValues, Declaration, Relation, RelationKind, RelationStep } from './relation-kind.ts'
import { state } from './state.ts'
import { referrerKind, throughKind } from './through.ts'

const KINDS: Readonly<Record<string, RelationKind<Relation>>> = {
  attribute,
  state,
  range,
  datetime,
  through: throughKind(kindOf),
  referrer: referrerKind(kindOf),
  composite: compositeKind(kindOf),
}

/** The kind answers every question about the relation. */
export function kindOf({ kind }: Relation): RelationKind<Relation> {
  const found = KINDS[kind]
  if (!found) throw new Error(`there is no kind of relation named ${kind}`)
  return found
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
  const { equates, parts } = kindOf(relation)
  if (parts) {
    const { need, of } = parts(relation)
    return need === 'all' ? of.every(holdsForOwnRecord) : of.some(holdsForOwnRecord)
  }
  const { field, attribute } = equates?.(relation) ?? {}
  return field === 'id' && attribute === 'id'
}

/** Fields of the object itself. */
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

/** The values that it accepts for every caller at any time; undefined if more than the value of one field decides. */
export function valuesWhoeverAsks(relation: Relation): AcceptedValues | undefined {
  const { accepted } = kindOf(relation)
  if (comparedAttributes(relation).length > 0 || isTimed(relation)) return undefined
  return accepted?.(relation, { valuesOf: () => [], now: 0 })
}

/** Kept for relations with and without parts, since every decision asks. */
const LEAVES = new WeakMap<Relation, readonly Relation[]>()

/** Its parts without parts of their own; the relation itself, if it has no parts. */
export function leavesOf(relation: Relation): readonly Relation[] {
  return LEAVES.getOrInsertComputed(relation, findLeaves)
}

/** Whether it has no parts. */
export function isLeaf(relation: Relation): boolean {
  return kindOf(relation).parts === undefined
}

function findLeaves(relation: Relation): readonly Relation[] {
  const { parts } = kindOf(relation)
  return parts ? [...new Set(parts(relation).of.flatMap(leavesOf))] : [relation]
}

/** Whether it holds when exactly these leaves do. */
export function followsFrom(relation: Relation, leafHolds: (leaf: Relation) => boolean): boolean {
  const { parts } = kindOf(relation)
  if (!parts) return leafHolds(relation)
  const { need, of } = parts(relation)
  return need === 'all'
    ? of.every((part) => followsFrom(part, leafHolds))
    : of.some((part) => followsFrom(part, leafHolds))
}

/** Whether it depends on the time of the request. */
export function isTimed(relation: Relation): boolean {
  const { isTimed: ofKind, parts, step } = kindOf(relation)
  const inner = step ? [step(relation).relation] : (parts?.(relation).of ?? [])
  return ofKind?.(relation) || inner.some(isTimed)
}

/** The other objects on which it rests; undefined for relations that look at the object alone. */
export function stepOf(relation: Relation): RelationStep | undefined {
  return kindOf(relation).step?.(relation)
}

/** All steps of the relation and of those that it rests on, with the resource of the object that each begins at. */
export function stepsIn(relation: Relation): readonly RelationStep[] {
  return leavesOf(relation).flatMap((leaf) => {
    const step = stepOf(leaf)
    return step ? [step, ...stepsIn(step.relation)] : []
  })
}
