/** What a caller has already who may write the data on which a relation rests. */
import type { Policy, Rule } from '../../../decide/policy.ts'
import {
  comparedFields,
  followsFrom,
  leavesOf,
  meaningOf,
  needsCaller,
  stepOf,
} from '../../../decide/relations/all-kinds.ts'
import { waysToHold } from '../../../decide/relations/possible-sets.ts'
import { EVERYWHERE, NOWHERE, type Region } from '../../../decide/relations/regions.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { ResourceSpace } from '../../../decide/rules/resource-space.ts'
import type { ReachStep, Source } from './sources.ts'

const NEVER = { stored: NOWHERE, mixed: NOWHERE, proposed: NOWHERE }

/**
 * Where the caller has already what the write needs, as far as it holds for the object that the relation is about: the
 * lead of a project may be granted its tasks as lead, before adding itself as a member.
 */
export function trustedBy(
  write: Rule,
  { resource, path, link, relation }: Source,
  space: ResourceSpace,
  { ownership }: Pick<Policy, 'ownership'>,
): Region {
  if (!relation) return EVERYWHERE
  const declared = (name: string) => [...(ownership.get(name)?.relations.values() ?? [])]
  // What the write gives up doesn't hold for another object to which it leads.
  const isGivenUp = (name: string) =>
    link !== undefined && write.after?.some((term) => term.name === name && term.negated)
  const needed = write.before.flatMap(({ name, negated }) => {
    return negated || isGivenUp(name) ? [] : declared(resource).filter((one) => one.name === name)
  })
  const regions = waysToHold(needed).flatMap((leaves) => {
    const ways = link === undefined ? [leaves] : waysToHold(leaves.flatMap((leaf) => linked(leaf, link, path.at(-1))))
    const upwards = link === undefined ? path : path.slice(0, -1)
    return ways.map((way) => {
      const held = upwards.reduceRight<ReadonlySet<string>>(
        (below, step) => holdingAbove(declared(step.resource).flatMap(leavesOf), step.leaf, below),
        meaningsOf(way),
      )
      const moments = space.leaves
        .filter((leaf) => held.has(meaningOf(leaf)))
        .map((leaf) => space.momentsOf(leaf) ?? NEVER)
      return space.regions.all(moments.map(({ stored }) => stored))
    })
  })
  return space.regions.any(regions)
}

/** What a relation of a linked object says about the object to which the link leads. */
function linked(leaf: Relation, link: string, above: ReachStep | undefined): readonly Relation[] {
  const step = stepOf(leaf)
  const isLink = step?.by === 'id' && comparedFields(leaf).every((field) => field === link)
  return isLink && step.resource === above?.resource && needsCaller(leaf) ? [step.relation] : []
}

/** The leaves that hold for an object because these hold for the one to which the step leads. */
function holdingAbove(leaves: readonly Relation[], step: Relation, below: ReadonlySet<string>): ReadonlySet<string> {
  const way = (leaf: Relation) => {
    const { resource, by, depth } = stepOf(leaf) ?? {}
    return JSON.stringify([resource, by, depth, comparedFields(leaf)])
  }
  return meaningsOf(
    leaves.filter((leaf) => {
      const of = stepOf(leaf)?.relation
      return of && way(leaf) === way(step) && followsFrom(of, (part) => below.has(meaningOf(part)))
    }),
  )
}

function meaningsOf(leaves: readonly Relation[]): ReadonlySet<string> {
  return new Set(leaves.map(meaningOf))
}
