/** What a list is asked about: a caller, and one object for each way in which that caller can relate to one. */
import { possibleSets } from '../../../decide/relations/possible-sets.ts'
import type { Representation } from '../../../resources/resource.ts'
import { type Attributes, arrangeRelated, arrangeWith, type Relating } from './arrange-related.ts'

export interface ListArranged {
  readonly attributes: Attributes
  readonly placed: readonly { readonly relations: ReadonlySet<string>; readonly object: Representation }[]
}

/** More ways to relate than this are more than a list has to be told apart by. */
const MOST_LISTED = 32

/** The attributes are those with which there are most ways; `idOf` gives each object an id. */
export function arrangeList(
  relating: Omit<Relating, 'relations' | 'id' | 'own'>,
  idOf: (nth: number) => string,
): ListArranged {
  const { ownership, resource } = relating
  const sets = possibleSets([...(ownership?.relations.values() ?? [])], resource).slice(0, MOST_LISTED)
  const wanted = sets.map((relations, i): Relating => ({ ...relating, relations, id: idOf(i), own: false }))
  const attributes = wanted.flatMap((one) => {
    const found = arrangeRelated(one)
    return found.kind === 'related' ? [found.attributes] : []
  })
  const distinct = [...new Map(attributes.map((one) => [JSON.stringify(one), one])).values()]
  const lists = distinct.map((one) => ({ attributes: one, placed: placedBy(wanted, one) }))
  return lists.reduce<ListArranged>((best, one) => (one.placed.length > best.placed.length ? one : best), {
    attributes: {},
    placed: [],
  })
}

/** One object has one id: of several with the caller's, the first. */
function placedBy(wanted: readonly Relating[], attributes: Attributes): ListArranged['placed'] {
  const placed = wanted.flatMap((one) => {
    const found = arrangeWith(one, attributes)
    return found.kind === 'object' ? [{ relations: one.relations, object: found.object }] : []
  })
  return placed.filter(({ object }, i) => placed.findIndex((other) => other.object.id === object.id) === i)
}
