/**
 * The objects of a list: one caller, and one object for each set of relations that can hold between them. Sets that rules
 * about the list tell apart come first.
 */
import { isDeepStrictEqual } from 'node:util'
import { namedRelations, possibleSets } from '../../../analysis/possible-sets.ts'
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import type { Representation } from '../../../resources/resource.ts'
import { type ArrangedPair, arrangeRelated, arrangeWith } from './arrange-related.ts'
import { completedSet } from './satisfiability.ts'
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

/** How many sets of the relations that tell objects apart are looked at. */
const MOST_LISTING_SETS = 128

type ListPair = Omit<WantedPair, 'relations' | 'id' | 'own'>

/** The names of the relations that rules about this list name: they decide which objects it holds. */
export function listingRelations(
  policy: Policy,
  { resource, action }: Pick<RouteMethod, 'resource' | 'action'>,
): readonly string[] {
  return namedRelations(policy, resource, action).map(({ name }) => name)
}

/**
 * Chooses the caller's attributes so that the list has the most objects; `idOf` gives each object an id. `apart`: the
 * names of the relations that decide which objects are listed.
 */
export function arrangeList(pair: ListPair, apart: Iterable<string>, idOf: (nth: number) => string): ListArranged {
  const sets = setsFor(pair, new Set(apart))
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

/** The sets of those relations, with few and with many of them in turn, and then all other sets. */
function setsFor(pair: ListPair, apart: ReadonlySet<string>): readonly ReadonlySet<string>[] {
  const { ownership, resource, resources, samplesOf: samples } = pair
  const relations = [...(ownership?.relations.values() ?? [])]
  const named = new Set(relations.flatMap(({ name }) => (apart.has(name) ? [name] : [])))
  const about = { resource, ownership, own: false }
  const sets = fromBothEnds(
    possibleSets(
      relations.filter(({ name }) => named.has(name)),
      resource,
    ),
  ).slice(0, MOST_LISTING_SETS)
  const first = sets.flatMap((set) => completedSet(about, { resources, samples }, { set, named }) ?? [])
  const all = [...first, ...possibleSets(relations, resource)]
  const distinct = new Map(all.map((set) => [[...set].sort().join('+'), set]))
  return [...distinct.values()].slice(0, MOST_LISTED)
}

function fromBothEnds<T>(values: readonly T[]): readonly T[] {
  const ends = values.flatMap((value, i) => [value, ...values.slice(values.length - 1 - i, values.length - i)])
  return ends.slice(0, values.length)
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
