/** Situations in which a decision differs, out of the regions of the diff: an object, and what a write makes of it. */

import type { Sides } from '../../../analysis/compare.ts'
import type { ChangedDecision } from '../../../analysis/diff/compare-decisions.ts'
import { namesWith } from '../../../analysis/possible-sets.ts'
import { NOWHERE, type Region } from '../../../analysis/regions.ts'
import { variablesOf } from '../../../analysis/space.ts'
import { concernsObject, type RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import { leavesOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'

import type { Known } from '../arrange/relatability.ts'
import { situationOf } from '../cells/results.ts'
import { completed, type Situation, stateOf, whenOf } from '../cells/situations.ts'
import type { Write } from '../cells/telling-writes.ts'

/** How many situations are made for each class of fields, of each decision. */
const MOST_FOR_CLASS = 6

export interface SituationThere {
  readonly situation: Situation
  readonly fields: ReadonlySet<string>
}

/** For each class of fields whose grant differs; those with the fewest relations and conditions first. */
export function situationsOf(
  { before, after }: Sides<Policy>,
  known: Known,
  { topic, changed }: ChangedDecision,
  routeMethod: RouteMethod,
): readonly SituationThere[] {
  if (!concernsObject(routeMethod) || routeMethod.endpoint.operation === 'list') return []
  const { rules, regions } = topic.space
  const policies = [before, after]
  // Relations that no rule about the action names may hold or not.
  const leaves = new Set(topic.space.atoms.flatMap(({ leaf }) => (leaf ? [leaf.before.name] : [])))
  const relations = [...(before.ownership.get(topic.resource.name)?.relations.values() ?? [])]
  const told = relations.filter((one) => leavesOf(one).every(({ name }) => leaves.has(name)))
  const named = new Set(told.map(({ name }) => name))
  const object = ({ stored, when }: Write): readonly Situation[] => {
    const set = completed(before, routeMethod, known, { set: stored, named })
    if (!set) return []
    const isNew = routeMethod.endpoint.operation === 'create'
    return [
      {
        ...(isNew ? { object: { kind: 'none' }, becomes: [...set].sort() } : { object: stateOf(set) }),
        ...whenOf(when),
      },
    ]
  }
  const write = (one: Write) => situationOf(policies, routeMethod, known, one)
  return changed.flatMap((region, i) => {
    const fields = new Set(topic.classes[i])
    const within = (decision: Region) => writesIn(topic, regions.both(region, decision), told)
    const situations = [...within(rules.second).flatMap(write), ...within(rules.first).flatMap(object)]
    return situations.map((situation) => ({ situation, fields }))
  })
}

function writesIn(
  { space }: ChangedDecision['topic'],
  region: Region,
  relations: readonly Relation[],
): readonly Write[] {
  const { atoms, regions } = space
  const found: Write[] = []
  let left = region
  while (left !== NOWHERE && found.length < MOST_FOR_CLASS) {
    const holding = regions.smallest(left)
    const namesAt = (moment: 'before' | 'after') => {
      const leaves = new Set(
        atoms.flatMap(({ leaf }, i) => (leaf && holding.has(variablesOf(i)[moment]) ? [leaf.before.name] : [])),
      )
      return new Set(namesWith(relations, leaves))
    }
    const when = atoms.flatMap(({ label, leaf }, i) => (!leaf && holding.has(variablesOf(i).before) ? [label] : []))
    found.push({ stored: namesAt('before'), result: namesAt('after'), when })
    const exactly = atoms.flatMap((_, i) =>
      Object.values(variablesOf(i)).map((variable) =>
        holding.has(variable) ? regions.where(variable) : regions.not(regions.where(variable)),
      ),
    )
    left = regions.minus(left, regions.all(exactly))
  }
  return found
}
