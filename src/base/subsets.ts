/** Every set of some items, and every choice of one item from each of several lists: bounded, where there may be many. */

/** In the order of a binary count: the empty set first, the set of all last. */
export function subsets<T>(items: readonly T[]): readonly (readonly T[])[] {
  return items.reduce<readonly (readonly T[])[]>((some, one) => some.concat(some.map((set) => [...set, one])), [[]])
}

/** The smallest of them, at most so many; of equal size, in the order of `subsets`. */
export function smallestSubsets<T>(items: readonly T[], most = Number.POSITIVE_INFINITY): readonly (readonly T[])[] {
  return items.reduce<readonly (readonly T[])[]>(
    (some, one) => smallest(some.concat(some.map((set) => [...set, one])), most),
    [[]],
  )
}

export function smallest<T>(sets: readonly (readonly T[])[], most: number): readonly (readonly T[])[] {
  return sets.toSorted((a, b) => a.length - b.length).slice(0, most)
}

/** One of each list, the last list changing fastest: the first ones, at most so many. */
export function choices<T>(
  lists: readonly (readonly T[])[],
  most = Number.POSITIVE_INFINITY,
): readonly (readonly T[])[] {
  return lists.reduce<readonly (readonly T[])[]>(
    (some, list) => some.flatMap((before) => list.map((one) => [...before, one])).slice(0, most),
    [[]],
  )
}
