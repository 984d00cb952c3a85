/**
 * Compares what callers may do with one resource and action: every subject alone, and every two subjects together.
 *
 * That is enough for callers with any number of subjects. Say a set of subjects was refused and is now granted: now one
 * of them allows and none denies. If that subject alone was refused before, it differs alone. Otherwise another subject
 * of the set denied it before, and the two differ together. (For a loss, swap before and after.)
 */

import { EVERYWHERE, NOWHERE, type Region } from '../../../analysis/regions.ts'
import { canBeOneCaller } from '../../../analysis/rule-index.ts'
import { grantedBy, joinRegions, type RuleRegions } from '../../../analysis/rule-regions.ts'
import type { Caller } from '../../../decide/caller.ts'
import { type Side, type Sides, sidesOf } from '../change.ts'
import { compareGrants, type GrantChange } from './compare-grants.ts'
import type { RelationSpace, Topic } from './topic.ts'

/** A subject alone, and all subjects whose rules apply to it. */
export interface ComparedCaller {
  readonly name: string
  readonly subjects: Sides<ReadonlySet<string>>
  /** A caller with these subjects; undefined without credentials. */
  readonly caller: Sides<Caller | undefined>
}

/** What the rules say about one caller, and what they grant to it. */
interface CallerRegions {
  readonly caller: ComparedCaller
  readonly rules: Sides<RuleRegions>
  readonly rulesByName: Sides<RuleRegions>
  readonly granted: Sides<readonly Region[]>
  readonly grantedByName: Sides<readonly Region[]>
}

export function compareSingles(topic: Topic, callers: readonly ComparedCaller[]): readonly GrantChange[] {
  const { regions } = topic.byName.space
  return callers.flatMap((caller) => {
    const { granted, grantedByName } = regionsOf(topic, caller)
    const could = sidesOf((side) => setsByName(topic, caller, side))
    return compareGrants(topic, [caller.name], {
      granted,
      alone: [],
      possible: possibleFor(topic.space, caller),
      byName: {
        granted: sidesOf((side) => grantedByName[side].map((region) => regions.both(region, could[side]))),
        alone: [],
        possible: regions.either(could.before, could.after),
      },
    })
  })
}

/** Differences that neither of the two has alone: one subject grants it, and the other denies it on one side only. */
export function comparePairs(topic: Topic, callers: readonly ComparedCaller[]): readonly GrantChange[] {
  return joinedPairs(topic, callers).flatMap((pair) => comparePair(topic, pair))
}

/** Two subjects of one caller, if one of them denies something else than before. */
function joinedPairs(
  topic: Topic,
  callers: readonly ComparedCaller[],
): readonly (readonly [CallerRegions, CallerRegions])[] {
  const all = callers.filter(canJoin).map((caller) => regionsOf(topic, caller))
  const denying = new Set(all.filter(({ rulesByName }) => differ(rulesByName.before.deny, rulesByName.after.deny)))
  if (denying.size === 0) return []
  return all.flatMap((one, i) =>
    all.slice(i + 1).flatMap((other) => {
      if (!denying.has(one) && !denying.has(other)) return []
      if (!canBeOneCaller(one.caller.name, other.caller.name)) return []
      return [denying.has(one) ? ([one, other] as const) : ([other, one] as const)]
    }),
  )
}

/** Callers to which two policies grant something else, and where: a region for each class of fields of the topic. */
export interface ChangedCaller {
  /** Subjects alone, or two together. */
  readonly callers: readonly ComparedCaller[]
  /** Empty where the policies differ by the names of relations alone, which counts for the role level. */
  readonly changed: readonly Region[]
}

/** None is the proof that every caller is granted the same, whatever their subjects are. */
export function* changedCallers(topic: Topic, callers: readonly ComparedCaller[]): Generator<ChangedCaller, undefined> {
  const { space, byName } = topic
  const apart = ({ regions }: RelationSpace, { before, after }: Sides<readonly Region[]>, possible: Region) =>
    after.map((region, i) => {
      const other = before[i] ?? NOWHERE
      const differing = regions.either(regions.minus(region, other), regions.minus(other, region))
      return regions.both(differing, possible)
    })
  const told = (
    some: readonly ComparedCaller[],
    possible: Region,
    named: Region,
    { granted, grantedByName }: Granted,
  ) => {
    const changed = apart(space, granted, possible)
    if (changed.some((region) => region !== NOWHERE)) return [{ callers: some, changed }]
    const renamed = apart(byName.space, grantedByName, named)
    return renamed.some((region) => region !== NOWHERE) ? [{ callers: some, changed: [] }] : []
  }
  for (const caller of callers) {
    const { regions } = byName.space
    const could = sidesOf((side) => setsByName(topic, caller, side))
    const named = regions.either(could.before, could.after)
    yield* told([caller], possibleFor(space, caller), named, regionsOf(topic, caller))
  }
  for (const pair of joinedPairs(topic, callers)) {
    const granted = grantedToPair(topic, pair)
    yield* told(
      pair.map(({ caller }) => caller),
      space.possible,
      EVERYWHERE,
      { granted: granted('rules'), grantedByName: granted('rulesByName') },
    )
  }
  return undefined
}

type Granted = Pick<CallerRegions, 'granted' | 'grantedByName'>

function comparePair(topic: Topic, pair: readonly [CallerRegions, CallerRegions]): readonly GrantChange[] {
  const grantedTo = grantedToPair(topic, pair)
  const names = pair.map((one) => one.caller.name)
  return compareGrants(topic, names, {
    granted: grantedTo('rules'),
    alone: pair.map(({ granted }) => granted),
    possible: topic.space.possible,
    byName: {
      granted: grantedTo('rulesByName'),
      alone: pair.map(({ grantedByName }) => grantedByName),
      possible: EVERYWHERE,
    },
  })
}

/** Every caller is `everyone`, and an `anonymous` caller has no other subject. */
function canJoin({ name }: ComparedCaller): boolean {
  return name !== 'anonymous' && name !== 'everyone'
}

function grantedToPair(topic: Topic, pair: readonly [CallerRegions, CallerRegions]) {
  return (rules: 'rules' | 'rulesByName') =>
    sidesOf((side) => {
      const { regions } = (rules === 'rules' ? topic : topic.byName).space
      const joined = joinRegions(
        regions,
        pair.map((one) => one[rules][side]),
        topic.classes.length,
      )
      return grantedBy(regions, joined)
    })
}

function regionsOf(topic: Topic, caller: ComparedCaller): CallerRegions {
  const rulesIn = ({ bySubject, space }: Pick<Topic, 'bySubject' | 'space'>) =>
    sidesOf((side) =>
      joinRegions(
        space.regions,
        [...caller.subjects[side]].map((subject) => bySubject[side].get(subject)),
        topic.classes.length,
      ),
    )
  const [rules, rulesByName] = [rulesIn(topic), rulesIn(topic.byName)]
  const grantedIn = ({ space }: Pick<Topic, 'space'>, one: Sides<RuleRegions>) =>
    sidesOf((side) => grantedBy(space.regions, one[side]))
  const [granted, grantedByName] = [grantedIn(topic, rules), grantedIn(topic.byName, rulesByName)]
  return { caller, rules, rulesByName, granted, grantedByName }
}

function possibleFor({ possible, possibleAnonymous }: RelationSpace, { name }: ComparedCaller): Region {
  return name === 'anonymous' ? possibleAnonymous : possible
}

/**
 * The sets of relation names that the caller could have to any object. A caller without credentials has no relation
 * that compares the object with a caller, and meets no condition that looks at credentials.
 */
function setsByName({ byName: { space } }: Topic, { name }: ComparedCaller, side: Side): Region {
  return name === 'anonymous' ? space.unrelated[side] : EVERYWHERE
}

function differ(before: readonly Region[], after: readonly Region[]): boolean {
  return before.some((region, i) => region !== after[i])
}
