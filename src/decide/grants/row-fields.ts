/** Field level, for the rows of a list: the fields that each row's own relations grant. */

import type { Representation } from '../../resources/resource.ts'
import type { Ground } from '../ground.ts'
import { relationsOf } from '../relations/ownership.ts'
import { comparedFields } from '../relations/relation.ts'

type Fields = ReadonlySet<string>

/** What the rows of a list show: the same fields each, or what `of` says of the compared fields of a row. */
export type RowFields =
  | { readonly kind: 'alike'; readonly fields: Fields }
  | { readonly kind: 'by row'; readonly compared: Fields; readonly of: (compared: Representation) => Fields }

/** For rows that the table's filter finds. `asked`: no other fields are shown; undefined for all that are granted. */
export function rowFields(ground: Ground, asked: Fields | undefined): RowFields {
  const { table, roleLevel, view, ownership, attributeOf } = ground
  const shown = (granted: Fields) =>
    [view, asked].reduce((rest: Fields, only) => (only ? rest.intersection(only) : rest), granted)
  if (roleLevel.shownAlike) return { kind: 'alike', fields: shown(roleLevel.shownAlike) }
  // Relations that no rule of the table names don't count, so it is enough to read what the others compare.
  const compared = new Set(table.compared.flatMap(comparedFields))
  const of = (row: Representation) => shown(table.grant(relationsOf(ownership, attributeOf, row)).fields)
  return { kind: 'by row', compared, of }
}
