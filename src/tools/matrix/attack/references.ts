/** What attacks change: fields that name a parent or have the value of a caller's attribute, and rows about a caller. */
import { v7 as uuidv7 } from 'uuid'
import { possibleSets } from '../../../analysis/possible-sets.ts'
import { USERS } from '../../../decide/policy.ts'
import { comparedAttributes, comparedFields, kindOf, leavesOf, stepOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation, RelationStep } from '../../../decide/relations/relation-kind.ts'
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import { leavesOn, parentsNamed } from '../../references.ts'
import { arrangeObject } from '../arrange/arrange-object.ts'
import type { Suite } from '../predict/suite.ts'
import type { Named } from '../run/set-up-caller.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'

/** A field of an object on which relations rest. */
export interface Reference {
  readonly field: string
  readonly value: 'parent' | 'attribute'
  /** The resource of the parent. */
  readonly to?: string
}

/** Objects of `resource` on which the relation `of` of another resource rests, such as the memberships of a project. */
export interface RowOf {
  readonly of: string
  /** The resource of the objects. */
  readonly resource: Resource
  readonly relation: Relation
  readonly step: RelationStep
}

type Policy = Suite['policy']

/** Each field once. In users, the attributes of callers are such fields too. */
export function referencesOf(policy: Policy, resource: Resource): readonly Reference[] {
  const attributes = [
    ...leavesOn(policy, resource.name).flatMap(ownAttribute),
    ...(resource.name === USERS ? attributesIn(policy) : []),
  ]
  const found: readonly Reference[] = [
    ...parentsNamed(policy, resource.name).map(({ field, to }): Reference => ({ field, value: 'parent', to })),
    ...attributes.map((field): Reference => ({ field, value: 'attribute' })),
  ]
  const writable = found.filter(({ field }) => field !== 'id' && resource.fields.get(field)?.readOnly === false)
  return [...new Map(writable.map((one) => [one.field, one])).values()]
}

/** The declared relations that look at the field, or have a part that does. */
export function relationsAbout(policy: Policy, resource: Resource, field: string): readonly string[] {
  const declared = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])]
  return declared
    .filter((one) => leavesOf(one).some((leaf) => comparedFields(leaf).includes(field)))
    .map(({ name }) => name)
}

/** Relations of other resources that rest on objects of this one which name them. */
export function rowsNaming(policy: Policy, resource: Resource): readonly RowOf[] {
  return [...policy.ownership.keys()].flatMap((of) =>
    leavesByRelation(policy, of).flatMap(({ relation, leaf }) => {
      const step = stepOf(leaf)
      return step?.resource === resource.name && step.by !== 'id' ? [{ of, resource, relation, step }] : []
    }),
  )
}

/** The attributes of callers that relations of this resource compare, without the id. */
export function attributesOn({ ownership }: Policy, { name }: Resource): readonly string[] {
  const compared = [...(ownership.get(name)?.relations.values() ?? [])].flatMap(comparedAttributes)
  return [...new Set(compared)].filter((attribute) => attribute !== 'id')
}

/** Whether an attribute is the id of an object, or another value that no two objects have. */
export function isNamedByAttribute(policy: Policy, { name, fields }: Resource): boolean {
  return leavesOn(policy, name).some((leaf) => {
    const { field = '', attribute = 'id' } = kindOf(leaf).equates?.(leaf) ?? {}
    return attribute !== 'id' && (field === 'id' || fields.get(field)?.unique === true)
  })
}

function attributesIn({ ownership }: Policy): readonly string[] {
  const relations = [...ownership.values()].flatMap((one) => [...one.relations.values()])
  return relations.flatMap(comparedAttributes).filter((attribute) => attribute !== 'id')
}

function ownAttribute(leaf: Relation): readonly string[] {
  const { field = '', attribute = 'id' } = kindOf(leaf).equates?.(leaf) ?? {}
  return attribute === 'id' ? [] : [field]
}

function leavesByRelation({ ownership }: Policy, resource: string) {
  const relations = [...(ownership.get(resource)?.relations.values() ?? [])]
  return relations.flatMap((relation) => leavesOf(relation).map((leaf) => ({ relation, leaf })))
}

interface Between {
  readonly caller: Named | undefined
  readonly object: Representation | undefined
}

/** The fields that the relation looks at, and the one that names the object. Throws CannotSetUp. */
export function rowFor(
  { suite, target }: { readonly suite: Suite; readonly target: Pick<TestTarget, 'now'> },
  { resource, step }: RowOf,
  { caller, object }: Between,
): Representation {
  const relations = [step.relation, ...leavesOf(step.relation)]
  const ownership = { conceal: false, relations: new Map(relations.map((one) => [one.name, one])) }
  const samples = suite.samples.get(resource.name)
  const naming = object?.id ?? uuidv7()
  const value: Json = resource.fields.get(step.by)?.list ? [naming] : naming
  const fields = relations.filter((one) => !stepOf(one)).flatMap(comparedFields)
  const sets = possibleSets(relations, resource).filter((set) => set.has(step.relation.name))
  for (const set of samples ? sets : []) {
    const found = arrangeObject({
      resource,
      samples: samples ?? { smallest: {}, values: new Map() },
      ownership,
      relations: set,
      attributes: caller?.attributes ?? {},
      now: target.now(),
      id: uuidv7(),
      fixed: new Map([[step.by, value]]),
    })
    if (found.kind !== 'object') continue
    const named = Object.entries(found.object).filter(([field]) => fields.includes(field) || field === step.by)
    return Object.fromEntries(named)
  }
  throw new CannotSetUp(`no object of ${resource.name} could be made that gives ${step.relation.name} to the attacker`)
}
