/**
 * Matrices as they are written: the rows of each file with the place of each cell, and all that is wrong with them. And the
 * cells that state something about one request.
 */
import { type Diagnostic, FileError, formatDiagnostic, type SourceFile } from '../../../base/diagnostic.ts'
import { printable } from '../../../present/quote.ts'
import { formatsOf, section } from '../../../present/report.ts'
import { table } from '../../../present/text.ts'
import { readCases } from '../read/cases.ts'
import { columnText, type Expectation } from '../read/expectation.ts'
import { readTable } from '../read/matrix-file.ts'
import { findMatrixFiles, type ReadMatrixSource, readMatrices, readSource } from '../read/read-matrices.ts'
import { titleOf } from '../read/words.ts'
import { cellJson } from './reports.ts'

interface ShownMatrices {
  readonly matrices: readonly ShownMatrix[]
  /** The files of cases in steps. */
  readonly cases: readonly string[]
  readonly faults: readonly Diagnostic[]
}

interface ShownMatrix {
  readonly file: string
  /** Without empty rows; the first one has the heads. */
  readonly rows: readonly (readonly string[])[]
  /** `line:column` of each cell. */
  readonly places: readonly (readonly string[])[]
}

/** Throws FileError where a path names no file or folder. */
export async function showMatrices(paths: readonly string[]): Promise<ShownMatrices> {
  const { matrices, cases } = await findMatrixFiles(paths)
  const sources: SourceFile[] = []
  const read: ReadMatrixSource = async (name, report) => {
    const source = await readSource(name, report)
    if (source) sources.push(source)
    return source
  }
  const faults = [...(await faultsOf(() => readMatrices(matrices, read))), ...(await faultsOf(() => readCases(cases)))]
  return {
    matrices: matrices.flatMap((file) => sources.filter(({ name }) => name === file).map(shownMatrix)),
    cases,
    faults,
  }
}

async function faultsOf(reading: () => Promise<unknown>): Promise<readonly Diagnostic[]> {
  try {
    await reading()
    return []
  } catch (error) {
    if (error instanceof FileError) return error.diagnostics
    throw error
  }
}

function shownMatrix(source: SourceFile): ShownMatrix {
  // What is wrong with it is known already.
  const rows = readTable(source, () => {}) ?? []
  return {
    file: source.name,
    rows: rows.map((row) => row.map(({ text }) => text)),
    places: rows.map((row) => row.map(({ place: { line, column } }) => `${line}:${column}`)),
  }
}

export const SHOWN_FORMATS = formatsOf(({ matrices, cases, faults }: ShownMatrices) => ({
  text: () => [
    ...matrices.map(({ file, rows }) => {
      const width = Math.max(0, ...rows.map((row) => row.length))
      const whole = rows.map((row) => Array.from({ length: width }, (_, i) => printable(row[i] ?? '')))
      return section(printable(file), table(whole))
    }),
    section('Cases in steps', cases.map(printable)),
    section('Faults', faults.map(formatDiagnostic).map(printable)),
  ],
  /** The shape is in docs/schemas/matrix-show.schema.json. In one line: a large matrix has a hundred thousand cells. */
  json: () => `${JSON.stringify({ matrices, cases, faults })}\n`,
}))

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
