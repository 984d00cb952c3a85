/** The fields that hold ids of other objects, as the relations of a policy follow them. Schemas don't tell. */

import type { Policy } from '../decide/policy.ts'
import { USERS } from '../decide/policy.ts'
import { comparedFields, kindOf, leavesOf, stepOf } from '../decide/relations/all-kinds.ts'
import type { Relation } from '../decide/relations/relation-kind.ts'

export interface NamingField {
  readonly field: string
  /** The resource of the objects that its values name, by id. */
  readonly to: string
}

type Owned = Pick<Policy, 'ownership'>

/** Fields that lead from object to object: to a parent, or to the object that has this one as a row. */
export function parentsNamed({ ownership }: Owned, resource: string): readonly NamingField[] {
  const own = leavesOn({ ownership }, resource).flatMap((leaf) => {
    const step = stepOf(leaf)
    return step?.by === 'id' ? comparedFields(leaf).map((field) => ({ field, to: step.resource })) : []
  })
  const rows = [...ownership.keys()].flatMap((of) =>
    leavesOn({ ownership }, of).flatMap((leaf) => {
      const step = stepOf(leaf)
      return step?.resource === resource && step.by !== 'id' ? [{ field: step.by, to: of }] : []
    }),
  )
  return [...own, ...rows]
}

/**
 * All fields whose values name objects, each pair once: parents, the users that are compared with callers, and objects
 * whose id callers have as an attribute.
 */
export function objectsNamed(policy: Owned, resource: string): readonly NamingField[] {
  const byCaller = leavesOn(policy, resource).flatMap((leaf) => {
    const { field = 'id', attribute = '' } = kindOf(leaf).equates?.(leaf) ?? {}
    return namedByAttribute(policy, attribute).map((to) => ({ field, to }))
  })
  const found = [...parentsNamed(policy, resource), ...byCaller].filter(({ field }) => field !== 'id')
  return [...new Map(found.map((one) => [JSON.stringify([one.field, one.to]), one])).values()]
}

/** The resource whose objects have the attribute as their id, if there is one and no other. */
function namedByAttribute(policy: Owned, attribute: string): readonly string[] {
  if (attribute === 'id') return [USERS]
  const found = [...policy.ownership.keys()].filter((name) =>
    leavesOn(policy, name).some((leaf) => {
      const equation = kindOf(leaf).equates?.(leaf)
      return equation?.field === 'id' && equation.attribute === attribute
    }),
  )
  return found.length === 1 ? found : []
}

/** Relations without parts that the relations of the resource consist of. */
export function leavesOn({ ownership }: Owned, resource: string): readonly Relation[] {
  return [...(ownership.get(resource)?.relations.values() ?? [])].flatMap(leavesOf)
}
