/** Field level, for the rows of a list: the fields granted by each row's own relations, as JSON text. */
import type { Representation } from '../resources/resource.ts'
import type { ListedObject } from '../store/contract.ts'
import { cutDocument } from '../store/cut-document.ts'
import type { Ground } from './ground.ts'
import { relationsOf } from './ownership.ts'

type Fields = ReadonlySet<string>

/** `asked`: no others are shown; undefined for all that are granted. A row has its fields in the order of `represent`. */
export function rowWriter(ground: Ground, asked: Fields | undefined): (row: ListedObject) => string {
  const { page, view } = ground
  const shown = (granted: Fields) =>
    [view, asked].reduce((rest: Fields, only) => (only ? rest.intersection(only) : rest), granted)
  const alike = page.shownAlike
  if (alike) {
    const fields = shown(alike)
    return (row) => writeRow(row, fields)
  }
  const compared = new Set(page.compared.map(({ field }) => field))
  return (row) => writeRow(row, shown(page.grant(relationsOfRow(ground, row, compared)).fields))
}

/** Relations that no rule of the page names don't count, so it is enough to read what the others compare. */
function relationsOfRow({ ownership, attributeOf }: Ground, row: ListedObject, compared: Fields): readonly string[] {
  const object: Representation = JSON.parse(writeRow(row, compared))
  return relationsOf(ownership, attributeOf, object)
}

function writeRow({ id, text, createdAt, updatedAt }: ListedObject, fields: Fields): string {
  let row = cutDocument(text, fields)
  if (fields.has('id')) row = `"id":${JSON.stringify(id)}${row && `,${row}`}`
  if (fields.has('createdAt')) row += `${row && ','}"createdAt":"${createdAt}"`
  if (fields.has('updatedAt')) row += `${row && ','}"updatedAt":"${updatedAt}"`
  return `{${row}}`
}
