/** A write that changes a state of its object, as --becomes supposes it, and the relations that hold after it. */
import type { SupposedResult } from '../../../decide/permits/check-fields.ts'
import { followsFrom, kindOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'

type Names = ReadonlySet<string>

export interface StateChange {
  /** As the user wrote it: `draft>placed`. */
  readonly text: string
  /** The field that the write changes. */
  readonly field: string
  /** The relations without parts that look at this field. */
  readonly states: Names
  /** Of these, those that hold before the write, and after it. */
  readonly before: Names
  readonly after: Names
}

/** Relations without parts that hold before a write and after it. */
export interface WrittenLeaves {
  readonly before: Names
  readonly after: Names
}

/** The write changes one field, so all else is as before. `leaves`: those that hold before, perhaps without states. */
export function writtenBy({ states, before, after }: StateChange, leaves: Names): WrittenLeaves {
  const others = leaves.difference(states)
  return { before: others.union(before), after: others.union(after) }
}

/** `stored`: the names that hold for the stored object. */
export function supposedResult(
  { field, states }: StateChange,
  relations: readonly Relation[],
  stored: readonly string[],
  { before, after }: WrittenLeaves,
): SupposedResult {
  const namesWith = (holds: (leaf: Relation) => boolean) =>
    relations.filter((relation) => followsFrom(relation, holds)).map(({ name }) => name)
  const mixed = namesWith((leaf) => (kindOf(leaf).onResultOfWrite === 'stored' ? before : after).has(leaf.name))
  const proposed = namesWith(({ name }) => after.has(name))
  const isSame = before.intersection(states).symmetricDifference(after.intersection(states)).size === 0
  return { names: { stored, mixed, proposed }, changed: isSame ? undefined : field }
}
