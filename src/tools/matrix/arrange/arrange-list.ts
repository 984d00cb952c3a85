/** The objects of a list: one caller, and one object for each set of relations that can hold between them. */
import { isDeepStrictEqual } from 'node:util'
import { possibleSets } from '../../../decide/relations/possible-sets.ts'
import type { Representation } from '../../../resources/resource.ts'
import { type ArrangedPair, arrangeRelated, arrangeWith } from './arrange-related.ts'
import type { Attributes, PlacedObject, WantedPair } from './wanted-object.ts'

export interface ListArranged {
  readonly attributes: Attributes
  readonly placed: readonly {
    readonly relations: ReadonlySet<string>
    readonly object: Representation
    readonly others: readonly PlacedObject[]
  }[]
}

/** The largest number of objects in a list. */
const MOST_LISTED = 40

/** Chooses the caller's attributes so that the list has the most objects; `idOf` gives each object an id. */
export function arrangeList(
  pair: Omit<WantedPair, 'relations' | 'id' | 'own'>,
  idOf: (nth: number) => string,
): ListArranged {
  const { ownership, resource } = pair
  const sets = possibleSets([...(ownership?.relations.values() ?? [])], resource).slice(0, MOST_LISTED)
  const wanted = sets.map((relations, i): WantedPair => ({ ...pair, relations, id: idOf(i), own: false }))
  const alone = wanted.map((one) => ({ one, found: arrangeRelated(one) }))
  const attributes = alone.flatMap(({ found }) => (found.kind === 'related' ? [found.attributes] : []))
  const distinct = [...new Map(attributes.map((one) => [JSON.stringify(one), one])).values()]
  const lists = distinct.map((one) => ({ attributes: one, placed: placedBy(alone, one) }))
  return lists.reduce<ListArranged>((best, one) => (one.placed.length > best.placed.length ? one : best), {
    attributes: {},
    placed: [],
  })
}

interface Alone {
  readonly one: WantedPair
  readonly found: ArrangedPair
}

/** Ids are unique: if several objects would have the caller's id, only the first one stays. */
function placedBy(wanted: readonly Alone[], attributes: Attributes): ListArranged['placed'] {
  const placed = wanted.flatMap(({ one, found: alone }) => {
    const isSame = alone.kind === 'related' && isDeepStrictEqual(alone.attributes, attributes)
    const found = isSame ? alone : arrangeWith(one, attributes)
    return found.kind === 'object' || found.kind === 'related'
      ? [{ relations: one.relations, object: found.object, others: found.others }]
      : []
  })
  return placed.filter(({ object }, i) => placed.findIndex((other) => other.object.id === object.id) === i)
}
