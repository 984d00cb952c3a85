/** The cells of matrices that state something about a request. */

import { printable } from '../../../present/quote.ts'
import { formatsOf } from '../../../present/report.ts'
import { columnText, type Expectation } from '../read/expectation.ts'
import { findMatrixFiles, readMatrices } from '../read/read-matrices.ts'
import { titleOf } from '../read/words.ts'
import { cellJson } from './reports.ts'

interface StatedRequest {
  /** In any case. */
  readonly method: string
  /** As the schema's route writes it. */
  readonly path: string
  /** Columns as matrices write them; if empty, all. */
  readonly columns: readonly string[]
}

/** In the order of files and rows. Throws FileError. */
export async function statedCells(
  paths: readonly string[],
  { method, path, columns }: StatedRequest,
): Promise<readonly Expectation[]> {
  const cells = await readMatrices((await findMatrixFiles(paths)).matrices)
  return cells.filter(
    (cell) =>
      cell.method === method.toUpperCase() &&
      cell.path === path &&
      (columns.length === 0 || columns.includes(columnText(cell.column))),
  )
}

export const STATED_FORMATS = formatsOf((cells: readonly Expectation[]) => ({
  text: () => [cells.map((cell) => printable(`${cell.place.file}:${cell.place.line}  ${titleOf(cell)}`))],
  /** The shape is in docs/schemas/matrix-find.schema.json. */
  json: () => ({ cells: cells.map((cell) => ({ place: cell.place, title: titleOf(cell), cell: cellJson(cell) })) }),
}))
