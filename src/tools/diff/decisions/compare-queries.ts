/** Compares the fields that a list may be filtered and sorted by, among the fields that it shows before and after. */
import type { DirectPolicy } from '../../../decide/grants/direct.ts'
import type { RoleLevel } from '../../../decide/grants/role-level.ts'
import { type Scope, type Sides, sidesOf } from '../change.ts'
import type { ComparedCaller } from './compare-callers.ts'
import type { GrantChange } from './compare-grants.ts'
import type { Topic } from './topic.ts'

const ALWAYS: Scope = { when: [{ with: [], without: [] }], besides: [] }

/**
 * Comparing each subject alone is enough: several together may query by the fields that each of them may query by.
 * `topic`: an action that lists.
 */
export function compareQueries(
  policies: Sides<DirectPolicy>,
  { resource, action }: Topic,
  callers: readonly ComparedCaller[],
): readonly GrantChange[] {
  return callers.flatMap(({ name, caller }) => {
    const { before, after } = sidesOf((side) => {
      const table = policies[side].table(policies[side].subjectOf(caller[side]), resource.name, action.name)
      return table.roleLevel(() => caller[side] !== undefined)
    })
    // A field that only one side shows is a difference of grants.
    const shown = [...resource.fields.keys()].filter((one) => before.grantable.has(one) && after.grantable.has(one))
    const only = (one: RoleLevel, other: RoleLevel) =>
      shown.filter((field) => one.queryable.has(field) && !other.queryable.has(field))
    const changes = [
      { effect: 'gains' as const, fields: only(after, before) },
      { effect: 'loses' as const, fields: only(before, after) },
    ]
    return changes.flatMap(({ effect, fields }): readonly GrantChange[] =>
      fields.length === 0 ? [] : [{ caller: [name], effect, part: 'query', fields, scope: ALWAYS }],
    )
  })
}
