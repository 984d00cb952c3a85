/** The relations that an object with some stated ones has beside them, as few as possible. */

import { possibleSets } from '../../../analysis/possible-sets.ts'
import type { Ownership } from '../../../decide/policy.ts'
import type { Resource } from '../../../resources/resource.ts'
import { type Known, relatability } from './relatability.ts'

interface About {
  readonly resource: Resource
  readonly ownership: Ownership | undefined
  /** Whether the object must have the caller's id. */
  readonly own: boolean
}

/** How many sets of further relations are tried to find an object with the named relations. */
const MOST_COMPLETIONS = 64

/**
 * Completes the set with relations outside of `named`. They make no difference, so as few as possible hold. Undefined if
 * no such object can exist. If one may exist but was not found, a set that may be possible.
 */
export function completedSet(
  { resource, ownership, own }: About,
  known: Known,
  { set, named }: { readonly set: ReadonlySet<string>; readonly named: ReadonlySet<string> },
): ReadonlySet<string> | undefined {
  const others = [...(ownership?.relations.values() ?? [])].filter(({ name }) => !named.has(name))
  let open: ReadonlySet<string> | undefined
  for (const more of possibleSets(others, resource).slice(0, MOST_COMPLETIONS)) {
    const relations = set.union(more)
    const kind = relatability(ownership, known, { resource, relations, own })
    if (kind === 'related') return relations
    if (kind === 'unarranged') open ??= relations
  }
  return open
}
