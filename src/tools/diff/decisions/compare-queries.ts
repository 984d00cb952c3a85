/** Compares the fields by which a list may be filtered and sorted, of those that it shows before and after. */

import { roleLevelRules } from '../../../decide/grants/evaluate.ts'
import { queryableFields } from '../../../decide/grants/queryable.ts'
import type { Policy } from '../../../decide/policy.ts'
import type { Has } from '../../../decide/relations/relation-kind.ts'
import type { Scope } from '../change.ts'
import { type Side, type Sides, sidesOf } from '../change.ts'
import { type Column, setsByName } from './compare-callers.ts'
import type { Finding } from './compare-grants.ts'
import { grantedBy, joinRegions, type Topic } from './rule-regions.ts'

type BySubject = ReadonlyMap<string, ReadonlySet<string>>

const ALWAYS: Scope = { when: [{ with: [], without: [] }], besides: [] }

/** Each subject alone is enough: several together may query by the fields that each of them may. `topic`: an action that lists. */
export function compareQueries(policies: Sides<Policy>, topic: Topic, columns: readonly Column[]): readonly Finding[] {
  const allowed = sidesOf((side) => ({
    anonymous: queryableBySubject(policies[side], topic, () => false),
    known: queryableBySubject(policies[side], topic, () => true),
  }))
  return columns.flatMap((column) => {
    const who = column.name === 'anonymous' ? 'anonymous' : 'known'
    const { before, after } = sidesOf((side) => queryableOf(column.subjects[side], allowed[side][who], topic))
    const found = [
      { effect: 'gains' as const, changed: after.difference(before) },
      { effect: 'loses' as const, changed: before.difference(after) },
    ]
    return found.flatMap(({ effect, changed }): Finding[] => {
      const fields = [...changed].filter((field) => isShown(topic, column, field))
      return fields.length === 0 ? [] : [{ caller: [column.name], effect, part: 'query', fields, scope: ALWAYS }]
    })
  })
}

function queryableBySubject(policy: Policy, { resource, action }: Topic, has: Has): BySubject {
  const subjects = new Set(policy.rules.map(({ subject }) => subject))
  const about = roleLevelRules(policy, { subjects, resource, action }, has)
  const bySubject = Map.groupBy(about, ({ subject }) => subject)
  return new Map([...bySubject].map(([subject, rules]) => [subject, new Set(queryableFields(policy, resource, rules))]))
}

/** A subject without rules takes no field away. */
function queryableOf(subjects: ReadonlySet<string>, allowed: BySubject, { resource }: Topic): ReadonlySet<string> {
  const every: ReadonlySet<string> = new Set(resource.fields.keys())
  return [...subjects].reduce((fields, subject) => fields.intersection(allowed.get(subject) ?? every), every)
}

/** Whether some row of the list shows the field on both sides; else the grants differ, and compareGrants finds it. */
function isShown(topic: Topic, column: Column, field: string): boolean {
  const { byName, classes } = topic
  const shownOn = (side: Side) => {
    const rules = [...column.subjects[side]].map((subject) => byName.bySubject[side].get(subject))
    const could = setsByName(topic, column, side)
    const granted = grantedBy(joinRegions(rules, classes.length))
    return granted.some((region, i) => (region & could) !== 0n && classes[i]?.includes(field))
  }
  return shownOn('before') && shownOn('after')
}
