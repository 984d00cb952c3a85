/** Field level, for the rows of a list: the fields granted by each row's own relations, as JSON text. */
import type { ListedObject } from '../store/contract.ts'
import { readListed, writeListed } from '../store/listed.ts'
import type { Ground } from './ground.ts'
import { relationsOf } from './ownership.ts'

type Fields = ReadonlySet<string>

/** For rows that the page's filter finds. `asked`: no other fields are shown; undefined for all that are granted. */
export function rowWriter(ground: Ground, asked: Fields | undefined): (row: ListedObject) => string {
  const { page, roleLevel, view, ownership, attributeOf } = ground
  const shown = (granted: Fields) =>
    [view, asked].reduce((rest: Fields, only) => (only ? rest.intersection(only) : rest), granted)
  const alike = roleLevel.shownAlike
  if (alike) {
    const fields = shown(alike)
    return (row) => writeListed(row, fields)
  }
  // Relations that no rule of the page names don't count, so it is enough to read what the others compare.
  const compared = new Set(page.compared.map(({ field }) => field))
  return (row) => {
    const relations = relationsOf(ownership, attributeOf, readListed(row, compared))
    return writeListed(row, shown(page.grant(relations).fields))
  }
}
