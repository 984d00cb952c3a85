/** The data on which a relation rests: other objects, the fields that lead to them, the caller's own users record. */
import { USERS } from '../../../decide/policy.ts'
import { comparedAttributes, comparedFields, leavesOf, stepOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'

export interface Source {
  readonly resource: string
  readonly fields: readonly string[]
  /** What the write must make hold; absent for the caller's own users record. */
  readonly relation?: Relation
  /** The field of the source's objects that names the object of the relation; absent if new objects don't count. */
  readonly link?: string
  /** The steps that lead from the relation to the source, one object after the other. */
  readonly path: readonly ReachStep[]
}

/** A relation that rests on other objects, and the resource that has it. */
export interface ReachStep {
  readonly resource: string
  readonly leaf: Relation
}

export function sourcesOf(leaf: Relation, resource: string): readonly Source[] {
  const ofCaller = comparedAttributes(leaf).filter((name) => name !== 'id')
  const own: readonly Source[] = ofCaller.length === 0 ? [] : [{ resource: USERS, fields: ofCaller, path: [] }]
  return [...own, ...stepSources(leaf, resource, [])]
}

function stepSources(leaf: Relation, resource: string, path: readonly ReachStep[]): readonly Source[] {
  const step = stepOf(leaf)
  if (!step) return []
  const fields = comparedFields(leaf).filter((name) => name !== 'id')
  const pointer: readonly Source[] = fields.length === 0 ? [] : [{ resource, fields, relation: leaf, path }]
  const further = [...path, { resource, leaf }]
  const inner = {
    resource: step.resource,
    relation: step.relation,
    fields: comparedFields(step.relation),
    path: further,
  }
  const target: Source = step.by === 'id' ? inner : { ...inner, fields: [...inner.fields, step.by], link: step.by }
  return [...pointer, target, ...leavesOf(step.relation).flatMap((one) => stepSources(one, step.resource, further))]
}
