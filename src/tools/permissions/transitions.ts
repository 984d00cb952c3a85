/**
 * The transitions of a write: what holds before and after it, where right sides of rules look at the result. Relations
 * that no right side looks at stay as they are.
 */
import type { Policy } from '../../decide/policy.ts'
import { comparedFields, followsFrom, kindOf, leavesOf } from '../../decide/relations/all-kinds.ts'
import { possibleSets } from '../../decide/relations/possible-sets.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import { isAbout } from '../../decide/rules/rule.ts'
import type { Action, Resource } from '../../resources/resource.ts'
import { ReviewError } from '../load-policy.ts'

/** The names that hold, as in ResultNames of decide/rules/terms.ts. */
export interface Transition {
  readonly stored: ReadonlySet<string>
  readonly mixed: ReadonlySet<string>
  readonly proposed: ReadonlySet<string>
  /** Those of the result that right sides name: `placed`, or `none`. */
  readonly becomes: string
}

interface About {
  readonly resource: Resource
  readonly action: Action
  /** The relations that rules about the action name. */
  readonly named: readonly Relation[]
  /** The object is the caller's own record. */
  readonly ownRecord: boolean
}

type Leaves = ReadonlySet<string>

const MOST_TRANSITIONS = 1024

/** Smallest sets first; none if no rule has a right side. Throws ReviewError if there are too many. */
export function transitionsOf(policy: Policy, about: About): readonly Transition[] {
  const { resource, action, named, ownRecord } = about
  const onTheRight = namesOnTheRight(policy, about)
  if (!onTheRight) return []
  const leaves = [...new Set(named.flatMap(leavesOf))]
  const changing = new Set(changingLeaves(named, onTheRight).map(({ name }) => name))
  const sets = possibleSets(leaves, resource, { ownRecord })
  const bySame = Map.groupBy(sets, (set) => [...set.difference(changing)].toSorted().join('+'))
  const count = [...bySame.values()].reduce((sum, some) => sum + some.length ** 2, 0)
  if (count > MOST_TRANSITIONS) throw tooMany(count, about)
  const all = [...bySame.values()].flatMap((some) =>
    some.flatMap((before) => some.map((after) => transition(named, onTheRight, { before, after }))),
  )
  const keyOf = ({ stored, mixed, proposed }: Transition) =>
    [stored, mixed, proposed].map((set) => [...set].join('+')).join('>')
  return [...new Map(all.map((one) => [keyOf(one), one])).values()]

  function tooMany(found: number, { resource: { name } }: About): ReviewError {
    const rules = `rules about \`${action.name}\` on \`${name}\``
    const advice = 'use `policy explain`, or choose other resources with --resource'
    return new ReviewError(`${rules} distinguish ${found} transitions, too many for a matrix: ${advice}`)
  }
}

/** Undefined if no rule about the action has a right side. */
function namesOnTheRight({ rules }: Policy, { resource, action }: About): ReadonlySet<string> | undefined {
  const sides = rules
    .filter((rule) => isAbout(rule, { resource, action }))
    .flatMap(({ after }) => (after ? [after] : []))
  return sides.length === 0 ? undefined : new Set(sides.flat().map(({ name }) => name))
}

/** The parts of these relations, and what looks at the same fields. */
function changingLeaves(named: readonly Relation[], onTheRight: ReadonlySet<string>): readonly Relation[] {
  const parts = named.filter(({ name }) => onTheRight.has(name)).flatMap(leavesOf)
  const fields = new Set(parts.flatMap(comparedFields))
  return named.flatMap(leavesOf).filter((leaf) => comparedFields(leaf).some((field) => fields.has(field)))
}

function transition(
  named: readonly Relation[],
  onTheRight: ReadonlySet<string>,
  { before, after }: { readonly before: Leaves; readonly after: Leaves },
): Transition {
  const holding = (holds: (leaf: Relation) => boolean) =>
    new Set(named.filter((relation) => followsFrom(relation, holds)).map(({ name }) => name))
  const proposed = holding(({ name }) => after.has(name))
  return {
    stored: holding(({ name }) => before.has(name)),
    mixed: holding((leaf) => (kindOf(leaf).onResultOfWrite === 'stored' ? before : after).has(leaf.name)),
    proposed,
    becomes: [...proposed].filter((name) => onTheRight.has(name)).join('+') || 'none',
  }
}
