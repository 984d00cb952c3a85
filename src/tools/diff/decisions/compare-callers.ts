/**
 * Who may do what they could not, or the other way round, about one resource and action: for every subject alone and
 * every two together.
 *
 * That is enough for callers of any number of subjects. Say a set of subjects was refused and is granted: some subject of
 * it now allows and none denies, so if that subject is still refused before when alone, it differs alone; else some other
 * subject of the set denied it before, and the two differ together. (The same, with before and after swapped, for a loss.)
 */

import { type Side, type Sides, sidesOf } from '../change.ts'
import { compareGrants, type Finding } from './compare-grants.ts'
import type { Region, RelationSpace } from './relation-space.ts'
import { grantedBy, joinRegions, type RuleRegions, type Topic } from './rule-regions.ts'

/** A subject alone, with the subjects whose rules it is under. */
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

/** Differences that neither of the two has alone: what one grants, and the other denies on one side only. */
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

/** Everybody is `everyone` already, and who is `anonymous` is nothing else. */
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

/** The sets of names that the caller could have, whatever the object: without credentials no relation to a caller can hold. */
export function setsByName({ byName: { space } }: Topic, { name }: Column, side: Side): Region {
  return name === 'anonymous' ? space.unrelated[side] : space.all
}

function differ(before: readonly Region[], after: readonly Region[]): boolean {
  return before.some((region, i) => region !== after[i])
}
