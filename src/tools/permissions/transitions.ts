/**
 * The transitions of a write: what holds before and after it, where right sides of rules look at the result. Relations
 * that no right side looks at stay as they are.
 */

import { possibleSets } from '../../analysis/possible-sets.ts'
import type { Policy } from '../../decide/policy.ts'
import { comparedFields, followsFrom, kindOf, leavesOf } from '../../decide/relations/all-kinds.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import { isAbout } from '../../decide/rules/terms.ts'
import type { Action, Resource } from '../../resources/resource.ts'
import { ToolError } from '../load-policy.ts'

/** The names that hold, as in ResultNames of decide/rules/terms.ts. */
export interface Transition {
  readonly stored: ReadonlySet<string>
  readonly mixed: ReadonlySet<string>
  /** Of the relations that rules ask of the result and that the write can change: with `stored`, they tell `mixed`. */
  readonly proposed: ReadonlySet<string>
  /** `proposed` as a label: `placed`, or `none`. */
  readonly becomes: string
}

interface About {
  readonly resource: Resource
  readonly action: Action
  /** The relations that rules about the action name. */
  readonly named: readonly Relation[]
  /** The object is the caller's own record. */
  readonly ownRecord: boolean
  /** Whether the matrix shows a stored object for which these of the named relations hold. */
  isShown(names: ReadonlySet<string>): boolean
}

type Leaves = ReadonlySet<string>

/** Deciding more takes longer than a person waits. */
const MOST_TRANSITIONS = 2 ** 15

/** Smallest sets first; none if no rule has a right side. Throws ToolError if there are too many. */
export function transitionsOf(policy: Policy, about: About): readonly Transition[] {
  const { resource, action, named, ownRecord, isShown } = about
  const onTheRight = namesOnTheRight(policy, about)
  if (!onTheRight) return []
  const leaves = [...new Set(named.flatMap(leavesOf))]
  const changing = new Set(changingLeaves(named, onTheRight).map(({ name }) => name))
  const told = named.filter(
    (relation) =>
      onTheRight.has(relation.name) ||
      (isAskedOfResult(relation) && leavesOf(relation).some(({ name }) => changing.has(name))),
  )
  const sets = possibleSets(leaves, resource, { ownRecord })
  const unchanged = (set: Leaves) => [...set.difference(changing)].toSorted().join('+')
  const bySame = Map.groupBy(sets, unchanged)
  const starts = sets.filter((leaves) => isShown(namesWith(named, leaves)))
  const afterOf = (before: Leaves) => bySame.get(unchanged(before)) ?? []
  const count = starts.reduce((sum, before) => sum + afterOf(before).length, 0)
  if (count > MOST_TRANSITIONS) throw tooMany(count, about)
  const all = starts.flatMap((before) => afterOf(before).map((after) => transition(named, told, { before, after })))
  const keyOf = ({ stored, mixed, proposed }: Transition) =>
    [stored, mixed, proposed].map((set) => [...set].join('+')).join('>')
  return [...new Map(all.map((one) => [keyOf(one), one])).values()]

  function tooMany(found: number, { resource: { name } }: About): ToolError {
    const rules = `rules about \`${action.name}\` on \`${name}\``
    const advice = 'name the relations of the object with --relation, or choose other resources with --resource'
    return new ToolError(`${rules} distinguish ${found} transitions, too many for a matrix: ${advice}`)
  }
}

/** Undefined if no rule about the action has a right side. */
export function namesOnTheRight(
  { rules }: Policy,
  { resource, action }: Pick<About, 'resource' | 'action'>,
): ReadonlySet<string> | undefined {
  const sides = rules
    .filter((rule) => isAbout(rule, { resource, action }))
    .flatMap(({ after }) => (after ? [after] : []))
  return sides.length === 0 ? undefined : new Set(sides.flat().map(({ name }) => name))
}

/**
 * The named relations, and the parts of those that a write decides by the stored object and by the proposed one: without
 * the parts, two different writes would look the same.
 */
export function withMixedParts(named: readonly Relation[], declared: Iterable<Relation>): readonly Relation[] {
  const isMixed = (relation: Relation) => new Set(leavesOf(relation).map(sideOf)).size > 1
  const parts = named.filter(isMixed).flatMap(leavesOf)
  return [...declared].filter((relation) => named.includes(relation) || parts.includes(relation))
}

/** Left sides ask states of the stored object alone; the parts of a mixed relation stand for it. */
function isAskedOfResult(relation: Relation): boolean {
  return leavesOf(relation).every((leaf) => sideOf(leaf) === 'proposed')
}

function sideOf(leaf: Relation) {
  return kindOf(leaf).onResultOfWrite
}

/** The parts of these relations, and what looks at the same fields. */
function changingLeaves(named: readonly Relation[], onTheRight: ReadonlySet<string>): readonly Relation[] {
  const parts = named.filter(({ name }) => onTheRight.has(name)).flatMap(leavesOf)
  const fields = new Set(parts.flatMap(comparedFields))
  return named.flatMap(leavesOf).filter((leaf) => comparedFields(leaf).some((field) => fields.has(field)))
}

function transition(
  named: readonly Relation[],
  told: readonly Relation[],
  { before, after }: { readonly before: Leaves; readonly after: Leaves },
): Transition {
  const proposed = namesWith(told, after)
  return {
    stored: namesWith(named, before),
    mixed: namesThat(named, (leaf) => (sideOf(leaf) === 'stored' ? before : after).has(leaf.name)),
    proposed,
    becomes: [...proposed].join('+') || 'none',
  }
}

function namesWith(named: readonly Relation[], leaves: Leaves): ReadonlySet<string> {
  return namesThat(named, ({ name }) => leaves.has(name))
}

function namesThat(named: readonly Relation[], holds: (leaf: Relation) => boolean): ReadonlySet<string> {
  return new Set(named.filter((relation) => followsFrom(relation, holds)).map(({ name }) => name))
}
