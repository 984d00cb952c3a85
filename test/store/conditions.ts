/** Conditions as tests write them. */
import type { Condition } from '../../src/decide/conditions/condition.ts'
import type { Scalar } from '../../src/resources/object.ts'

export const always: Condition = { kind: 'always' }
export const holds = (field: string, ...values: Scalar[]): Condition => ({ kind: 'holds', field, values })
export const all = (...of: Condition[]): Condition => ({ kind: 'all', of })
export const some = (...of: Condition[]): Condition => ({ kind: 'some', of })
export const not = (of: Condition): Condition => ({ kind: 'not', of })

/** In RELATED, a task's `up` is its project; in place of memberships, `users` have a project (`up`) and a caller (`own`). */
export function memberOf(where: Condition): Condition {
  const membership: Condition = { kind: 'related', field: 'id', resource: 'users', by: 'up', where }
  return { kind: 'related', field: 'up', resource: 'projects', by: 'id', where: membership }
}

export const member = (caller: string) => memberOf(holds('own', caller))

export const climb = (caller: string): Condition => {
  return { kind: 'climb', field: 'up', resource: 'projects', depth: 8, where: holds('own', caller) }
}
