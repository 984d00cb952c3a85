/**
 * Compares what callers may do with one resource and action: every subject alone, and every two subjects together.
 *
 * That is enough for callers with any number of subjects. Say a set of subjects was refused and is now granted: now one of
 * them allows and none denies. If that subject alone was refused before, it differs alone. Else another subject of the set
 * denied it before, and the two differ together. (For a loss, swap before and after.)
 */

import type { Region } from '../../../decide/relations/regions.ts'
import { type Side, type Sides, sidesOf } from '../change.ts'
import { compareGrants, type Finding } from './compare-grants.ts'
import type { RelationSpace } from './relation-space.ts'
import { grantedBy, joinRegions, type RuleRegions, type Topic } from './rule-regions.ts'

/** A subject alone, and all subjects whose rules apply to it. */
export interface Column {
  readonly name: string
  readonly subjects: Sides<ReadonlySet<string>>
}

/** What the rules say about one column, and what they grant to it. */
interface ColumnRegions {
  readonly column: Column
  readonly rules: Sides<RuleRegions>
  readonly rulesByName: Sides<RuleRegions>
  readonly granted: Sides<readonly Region[]>
  readonly grantedByName: Sides<readonly Region[]>
}

export function compareSingles(topic: Topic, columns: readonly Column[]): readonly Finding[] {
  return columns.flatMap((column) => {
    const { granted, grantedByName } = regionsOf(topic, column)
    const could = sidesOf((side) => setsByName(topic, column, side))
    return compareGrants(topic, [column.name], {
      granted,
      alone: [],
      possible: possibleFor(topic.space, column),
      byName: {
        granted: sidesOf((side) => grantedByName[side].map((region) => region & could[side])),
        alone: [],
        possible: could.before | could.after,
      },
    })
  })
}

/** Differences that neither of the two has alone: one subject grants it, and the other denies it on one side only. */
export function comparePairs(topic: Topic, columns: readonly Column[]): readonly Finding[] {
  const all = columns.filter(canJoin).map((column) => regionsOf(topic, column))
  const denying = new Set(all.filter(({ rulesByName }) => differ(rulesByName.before.deny, rulesByName.after.deny)))
  if (denying.size === 0) return []
  return all.flatMap((one, i) =>
    all.slice(i + 1).flatMap((other) => {
      if (!denying.has(one) && !denying.has(other)) return []
      return canMeet(one.column, other.column) ? comparePair(topic, denying.has(one) ? [one, other] : [other, one]) : []
    }),
  )
}

function comparePair(topic: Topic, pair: readonly [ColumnRegions, ColumnRegions]): readonly Finding[] {
  const grantedTo = (rules: 'rules' | 'rulesByName') =>
    sidesOf((side) =>
      grantedBy(
        joinRegions(
          pair.map((one) => one[rules][side]),
          topic.classes.length,
        ),
      ),
    )
  const caller = pair.map(({ column }) => column.name)
  return compareGrants(topic, caller, {
    granted: grantedTo('rules'),
    alone: pair.map(({ granted }) => granted),
    possible: topic.space.possible,
    byName: {
      granted: grantedTo('rulesByName'),
      alone: pair.map(({ grantedByName }) => grantedByName),
      possible: topic.byName.space.all,
    },
  })
}

/** Every caller is `everyone`, and an `anonymous` caller has no other subject. */
function canJoin({ name }: Column): boolean {
  return name !== 'anonymous' && name !== 'everyone'
}

function canMeet(one: Column, other: Column): boolean {
  return ![one, other].every(({ name }) => name.startsWith('user:'))
}

function regionsOf(topic: Topic, column: Column): ColumnRegions {
  const rulesIn = ({ bySubject }: Pick<Topic, 'bySubject'>) =>
    sidesOf((side) =>
      joinRegions(
        [...column.subjects[side]].map((subject) => bySubject[side].get(subject)),
        topic.classes.length,
      ),
    )
  const [rules, rulesByName] = [rulesIn(topic), rulesIn(topic.byName)]
  const grantedIn = (one: Sides<RuleRegions>) => sidesOf((side) => grantedBy(one[side]))
  return { column, rules, rulesByName, granted: grantedIn(rules), grantedByName: grantedIn(rulesByName) }
}

function possibleFor({ possible, possibleAnonymous }: RelationSpace, { name }: Column): Region {
  return name === 'anonymous' ? possibleAnonymous : possible
}

/** The sets of names that the caller could have, whatever the object: a caller without credentials has no relation to a caller. */
export function setsByName({ byName: { space } }: Topic, { name }: Column, side: Side): Region {
  return name === 'anonymous' ? space.unrelated[side] : space.all
}

function differ(before: readonly Region[], after: readonly Region[]): boolean {
  return before.some((region, i) => region !== after[i])
}
