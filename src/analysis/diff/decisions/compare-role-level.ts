/**
 * Differences that no object shows. The role level doesn't look at objects, so it takes relations by their names. If it
 * differs, a list is empty rather than refused, and a missing object is 404 rather than 403.
 */

import { subsets } from '../../../base/subsets.ts'
import type { ComparedSpace, Grants, Topic } from '../../compare.ts'
import { EVERYWHERE, NOWHERE, type Region } from '../../regions.ts'
import { variablesOf } from '../../space.ts'
import type { ChangeScope } from '../change.ts'
import { describeScope } from './describe-region.ts'

/**
 * Where the role level passes afterwards, and didn't before; undefined if nowhere. `shown`: what objects gain, in the
 * space of meanings: nothing more is said under the same conditions.
 */
export function gainedRoleLevel(
  topic: Topic,
  { granted, alone, possible }: Grants,
  shown: Region,
): ChangeScope | undefined {
  const space = topic.byName
  const { regions, rules } = space
  const asked = (some: readonly Region[]) => regions.all([regions.any(some), rules.first, possible])
  const isCondition = conditionsOf(space)
  /** The conditions under which some set of relations is allowed. */
  const passing = (some: readonly Region[]) => regions.whatever(asked(some), (variable) => !isCondition(variable))
  const gained = (one: Grants['granted']) => regions.minus(passing(one.after), passing(one.before))
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
  const named = byName.atoms.flatMap(({ label, leaf }, i) => (leaf ? [] : [{ label, variable: variablesOf(i).before }]))
  if (named.length > MOST_CONDITIONS) return EVERYWHERE
  const places = new Map(space.atoms.map(({ label }, i) => [label, variablesOf(i).before]))
  const exactly = (
    { regions }: ComparedSpace,
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
  return byName.regions.any(sets.map((holding) => exactly(byName, holding, ({ variable }) => variable)))
}

interface Named {
  readonly label: string
  readonly variable: number
}

function conditionsOf({ atoms }: ComparedSpace): (variable: number) => boolean {
  const variables = new Set(atoms.flatMap(({ leaf }, i) => (leaf ? [] : [variablesOf(i).before])))
  return (variable) => variables.has(variable)
}
