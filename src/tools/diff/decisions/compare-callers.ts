/**
 * Who may do what they could not, or the other way round, about one resource and action: for every subject alone and
 * every two together.
 *
 * That is enough for callers of any number of subjects. Say a set of subjects was refused and is granted: some subject of
 * it now allows and none denies, so if that subject is still refused before when alone, it differs alone; else some other
 * subject of the set denied it before, and the two differ together. (The same, with before and after swapped, for a loss.)
 */
import { compareGrants, type Finding } from './compare-grants.ts'
import { type Region, type RelationSpace, type Side, type Sides, sidesOf } from './relation-space.ts'
import { grantedBy, type Said, type Topic, together } from './rule-regions.ts'

/** A subject alone, with the subjects whose rules it is under. */
export interface Column {
  readonly name: string
  readonly subjects: Sides<ReadonlySet<string>>
}

interface Spoken {
  readonly column: Column
  readonly said: Sides<Said>
  readonly saidByName: Sides<Said>
  readonly granted: Sides<readonly Region[]>
  readonly grantedByName: Sides<readonly Region[]>
}

export function compareSingles(topic: Topic, columns: readonly Column[]): readonly Finding[] {
  return columns.flatMap((column) => {
    const { granted, grantedByName } = speak(topic, column)
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
  const spoken = columns.filter(canJoin).map((column) => speak(topic, column))
  const denying = new Set(spoken.filter(({ saidByName }) => differ(saidByName.before.deny, saidByName.after.deny)))
  if (denying.size === 0) return []
  return spoken.flatMap((one, i) =>
    spoken.slice(i + 1).flatMap((other) => {
      if (!denying.has(one) && !denying.has(other)) return []
      return canMeet(one.column, other.column) ? comparePair(topic, denying.has(one) ? [one, other] : [other, one]) : []
    }),
  )
}

function comparePair(topic: Topic, pair: readonly [Spoken, Spoken]): readonly Finding[] {
  const grantedTo = (said: 'said' | 'saidByName') =>
    sidesOf((side) =>
      grantedBy(
        together(
          pair.map((one) => one[said][side]),
          topic.classes.length,
        ),
      ),
    )
  const caller = pair.map(({ column }) => column.name)
  return compareGrants(topic, caller, {
    granted: grantedTo('said'),
    alone: pair.map(({ granted }) => granted),
    possible: topic.space.possible,
    byName: {
      granted: grantedTo('saidByName'),
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

function speak(topic: Topic, column: Column): Spoken {
  const sayIn = ({ said }: Pick<Topic, 'said'>) =>
    sidesOf((side) =>
      together(
        [...column.subjects[side]].map((subject) => said[side].get(subject)),
        topic.classes.length,
      ),
    )
  const [said, saidByName] = [sayIn(topic), sayIn(topic.byName)]
  const grantedIn = (one: Sides<Said>) => sidesOf((side) => grantedBy(one[side]))
  return { column, said, saidByName, granted: grantedIn(said), grantedByName: grantedIn(saidByName) }
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
