/**
 * Differences that no object shows. The role level doesn't look at objects, so it takes relations by their names. If it
 * differs, a list is empty rather than refused, and a missing object is 404 rather than 403.
 */

import { EVERYWHERE, NOWHERE, type Region } from '../../../analysis/regions.ts'
import { variablesOf } from '../../../analysis/space.ts'
import { subsets } from '../../../base/subsets.ts'
import type { ChangeScope, Sides } from '../change.ts'
import { describeScope } from './describe-region.ts'
import type { RelationSpace, Topic } from './topic.ts'

/** What is granted by the names of relations: to a caller, and to each of its subjects alone if it has two. */
interface GrantsByName {
  readonly granted: Sides<readonly Region[]>
  readonly alone: readonly Sides<readonly Region[]>[]
  readonly possible: Region
}

/**
 * Where the role level passes afterwards, and didn't before; undefined if nowhere. `shown`: what objects gain, in the
 * space of meanings: nothing more is said under the same conditions.
 */
export function gainedRoleLevel(
  topic: Topic,
  { granted, alone, possible }: GrantsByName,
  shown: Region,
): ChangeScope | undefined {
  const { space } = topic.byName
  const { regions, rules } = space
  const asked = (some: readonly Region[]) => regions.all([regions.any(some), rules.first, possible])
  const isCondition = conditionsOf(space)
  /** The conditions under which some set of relations is allowed. */
  const passing = (some: readonly Region[]) => regions.whatever(asked(some), (variable) => !isCondition(variable))
  const gained = (one: GrantsByName['granted']) => regions.minus(passing(one.after), passing(one.before))
  const own = regions.minus(gained(granted), regions.any(alone.map(gained)))
  const region = own === NOWHERE ? NOWHERE : regions.minus(own, conditionsWhere(topic, shown))
  if (region === NOWHERE) return undefined
  const changed = regions.both(asked(granted.after), region)
  return describeScope(space, {
    changed,
    kept: NOWHERE,
    possible: regions.both(rules.first, possible),
    decision: rules.first,
  })
}

/** More conditions of one action are not told apart here. */
const MOST_CONDITIONS = 8

/** The conditions under which the region has a situation: from the space of meanings to the space of names. */
function conditionsWhere({ space, byName }: Topic, region: Region): Region {
  const isCondition = conditionsOf(space)
  const shown = space.regions.whatever(region, (variable) => !isCondition(variable))
  if (shown === NOWHERE) return NOWHERE
  const named = byName.space.atoms.flatMap(({ label, leaf }, i) =>
    leaf ? [] : [{ label, variable: variablesOf(i).before }],
  )
  if (named.length > MOST_CONDITIONS) return EVERYWHERE
  const places = new Map(space.atoms.map(({ label }, i) => [label, variablesOf(i).before]))
  const exactly = (
    { regions }: RelationSpace,
    holding: readonly Named[],
    variableOf: (one: Named) => number | undefined,
  ) =>
    regions.all(
      named.flatMap((one) => {
        const variable = variableOf(one)
        if (variable === undefined) return []
        return [holding.includes(one) ? regions.where(variable) : regions.not(regions.where(variable))]
      }),
    )
  const sets = subsets(named).filter((holding) => {
    return (
      space.regions.both(
        shown,
        exactly(space, holding, ({ label }) => places.get(label)),
      ) !== NOWHERE
    )
  })
  return byName.space.regions.any(sets.map((holding) => exactly(byName.space, holding, ({ variable }) => variable)))
}

interface Named {
  readonly label: string
  readonly variable: number
}

function conditionsOf({ atoms }: RelationSpace): (variable: number) => boolean {
  const variables = new Set(atoms.flatMap(({ leaf }, i) => (leaf ? [] : [variablesOf(i).before])))
  return (variable) => variables.has(variable)
}
