/** Compares the fields that a list may be filtered and sorted by, among the fields that it shows before and after. */
import { subsets } from '../../base/subsets.ts'
import type { DirectPolicy } from '../../decide/grants/direct.ts'
import type { RoleLevel } from '../../decide/grants/role-level.ts'
import { conditionNeedsCaller } from '../../decide/request-conditions/all-conditions.ts'
import type { ComparedCaller } from '../compare.ts'
import { type Sides, sidesOf, type Topic } from '../compared-space.ts'
import type { ChangeScope, ScopeTerm } from './change.ts'
import type { GrantChange } from './compare-grants.ts'

/** Under more conditions, rules about lists are compared as if any of them could hold. */
const MOST_CONDITIONS = 6

/** Exactly these conditions of the request hold, or any. */
type HoldingConditions = readonly string[] | 'any'

/**
 * Whether what a list may be filtered and sorted by differs for a caller, under some conditions and with some attributes:
 * a rule whose relations a caller can't have doesn't count (semantics.md, "list").
 */
export function changesQueries(policies: Sides<DirectPolicy>, topic: Topic, { caller }: ComparedCaller): boolean {
  const { tables, conditions } = tablesFor(policies, topic, caller)
  const attributes = [...new Set([...tables.before.attributes, ...tables.after.attributes])].filter(
    (one) => one !== 'id',
  )
  if (conditions.length + attributes.length > MOST_CONDITIONS) return true
  return subsets(conditions).some((holding) =>
    subsets(attributes).some((held) => {
      const { before, after } = sidesOf((side) => {
        const has = (name: string) => caller[side] !== undefined && (name === 'id' || held.includes(name))
        return new Set(tables[side].roleLevel(has, holding).queryable.keys())
      })
      return before.symmetricDifference(after).size > 0
    }),
  )
}

function tablesFor(policies: Sides<DirectPolicy>, { resource, action }: Topic, caller: ComparedCaller['caller']) {
  const tables = sidesOf((side) => {
    return policies[side].table(policies[side].subjectOf(caller[side]), resource.name, action.name)
  })
  const could = sidesOf((side) =>
    tables[side].conditions.filter((name) => {
      const condition = policies[side].conditions.get(name)
      return caller[side] !== undefined || !condition || !conditionNeedsCaller(condition)
    }),
  )
  return { tables, conditions: [...new Set([...could.after, ...could.before])] }
}

interface Found {
  readonly effect: 'gains' | 'loses'
  readonly fields: readonly string[]
  readonly holding: HoldingConditions
}

/**
 * Comparing each subject alone is enough: several together may query by the fields that each of them may query by.
 * `topic`: an action that lists.
 */
export function compareQueries(
  policies: Sides<DirectPolicy>,
  topic: Topic,
  callers: readonly ComparedCaller[],
): readonly GrantChange[] {
  return callers.flatMap(({ name, caller }) => {
    const { tables, conditions } = tablesFor(policies, topic, caller)
    const asked: readonly HoldingConditions[] = conditions.length <= MOST_CONDITIONS ? subsets(conditions) : ['any']
    const found = asked.flatMap((holding) => {
      return changesIn(
        topic,
        sidesOf((side) => tables[side].roleLevel(() => caller[side] !== undefined, holding)),
        holding,
      )
    })
    const alike = Map.groupBy(found, ({ effect, fields }) => JSON.stringify([effect, fields]))
    return [...alike.values()].flatMap((group) =>
      group.slice(0, 1).map(({ effect, fields }): GrantChange => {
        const scope = scopeOf(
          group.map(({ holding }) => holding),
          conditions,
        )
        return { caller: [name], effect, part: 'query', fields, scope }
      }),
    )
  })
}

function changesIn(
  { resource }: Topic,
  { before, after }: Sides<RoleLevel>,
  holding: HoldingConditions,
): readonly Found[] {
  // A field that only one side shows is a difference of grants.
  const shown = [...resource.fields.keys()].filter((one) => before.grantable.has(one) && after.grantable.has(one))
  const only = (one: RoleLevel, other: RoleLevel) =>
    shown.filter((field) => one.queryable.has(field) && !other.queryable.has(field))
  const changes: readonly Found[] = [
    { effect: 'gains', fields: only(after, before), holding },
    { effect: 'loses', fields: only(before, after), holding },
  ]
  return changes.filter(({ fields }) => fields.length > 0)
}

/** Terms for these sets of conditions, without the conditions that make no difference. */
function scopeOf(sets: readonly HoldingConditions[], conditions: readonly string[]): ChangeScope {
  const known = new Set(
    sets.map((set) => (set === 'any' ? set : conditions.filter((name) => set.includes(name)).join('+'))),
  )
  const isWithin = (term: ScopeTerm) =>
    subsets(conditions)
      .filter(
        (set) => term.with.every((name) => set.includes(name)) && !term.without.some((name) => set.includes(name)),
      )
      .every((set) => known.has(conditions.filter((name) => set.includes(name)).join('+')))
  const terms = sets.map((set): ScopeTerm => {
    if (set === 'any') return ANY
    const whole = { with: set, without: conditions.filter((name) => !set.includes(name)) }
    return conditions.reduce<ScopeTerm>((term, name) => {
      const less = {
        with: term.with.filter((one) => one !== name),
        without: term.without.filter((one) => one !== name),
      }
      return isWithin(less) ? less : term
    }, whole)
  })
  return { when: [...new Map(terms.map((term) => [JSON.stringify(term), term])).values()], besides: [] }
}

const ANY: ScopeTerm = { with: [], without: [] }
