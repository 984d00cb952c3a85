/** The matrices of this tab: those of the server, and in their place those that somebody changed here. */
import { keep, kept } from '../api/kept.ts'
import { session } from '../api/session.ts'
import type { MatrixRun, ShownMatrices, TrialResult } from '../api/types.ts'
import { inSlices } from '../parts/slices.ts'
import type { Spot } from '../parts/spot.ts'
import { createStore } from '../parts/store.ts'

/** Cells; the first row has the heads. A row that changes is another one, so what was found for it is gone. */
export type MatrixRows = readonly (readonly string[])[]

interface ChangedMatrix {
  readonly rows: MatrixRows
  /** Those of the server when the change began; undefined for a new matrix. */
  readonly from: MatrixRows | undefined
}

interface Tests {
  readonly served: Readonly<Record<string, MatrixRows>>
  readonly changed: Readonly<Record<string, ChangedMatrix>>
  /** For cells of the column `body`. */
  readonly bodies: Readonly<Record<string, string>>
  readonly found: ReadonlyMap<readonly string[], ReadonlyMap<number, CellFound>>
  /** The rows and columns of the last run, by `placeKey`. */
  readonly spots: ReadonlyMap<string, readonly [readonly string[], number]>
}

/** What a run found at a cell. */
export interface CellFound {
  readonly meaning: 'expected' | 'wrong' | 'untried' | 'left-out'
  /** Beside the cell's text; empty if it is as expected. */
  readonly short: string
  readonly why: string
}

const NONE: Tests = { served: {}, changed: {}, bodies: {}, found: new Map(), spots: new Map() }

export const tests = createStore<Tests>({ ...NONE, ...keptTests() })

// Another person must not find it.
session.follow(() => {
  if (session.get().kind === 'none') tests.set(NONE)
})

window.addEventListener('beforeunload', (event) => {
  if (Object.keys(tests.get().changed).length > 0) event.preventDefault()
})

const PAUSE_MS = 300
let pausing: ReturnType<typeof setTimeout> | undefined
let last = tests.get().changed

// Over a reload too, for the same person.
tests.follow(() => {
  if (tests.get().changed === last) return
  last = tests.get().changed
  clearTimeout(pausing)
  pausing = setTimeout(keepTests, PAUSE_MS)
})
window.addEventListener('pagehide', keepTests)

function keepTests(): void {
  clearTimeout(pausing)
  const { changed, bodies } = tests.get()
  keep('tests', Object.keys(changed).length > 0 ? { changed, bodies } : undefined)
}

/** Nothing of what no matrix can be. */
function keptTests(): Partial<Tests> {
  const { changed, bodies } = (kept('tests') ?? {}) as Partial<Tests>
  const isWhole = Object.values(changed ?? {}).every((one) => Array.isArray(one?.rows) && one.rows.every(Array.isArray))
  return changed && bodies && isWhole ? { changed, bodies } : {}
}

export function rowsOf({ served, changed }: Tests, name: string): MatrixRows {
  return changed[name]?.rows ?? served[name] ?? []
}

/** Rows that are the same stay, with what was found for them. */
export function takeServed(shown: ShownMatrices): void {
  const now = tests.get()
  const served = Object.fromEntries(
    shown.matrices.map(({ file, rows }) => {
      const before = now.served[nameIn(file)]
      return [nameIn(file), before && isSame(before, rows) ? before : rows]
    }),
  )
  tests.set({ ...now, served })
}

export function changeRows(name: string, change: (rows: MatrixRows) => MatrixRows): void {
  const now = tests.get()
  const rows = change(rowsOf(now, name))
  const from = name in now.changed ? now.changed[name]?.from : now.served[name]
  tests.set({ ...now, changed: { ...now.changed, [name]: { rows, from } } })
}

export function takeBack(name: string): void {
  const { [name]: _, ...changed } = tests.get().changed
  tests.set({ ...tests.get(), changed })
}

export function addMatrices(shown: ShownMatrices, bodies: Readonly<Record<string, string>>): void {
  for (const { file, rows } of shown.matrices) changeRows(nameIn(file), () => rows)
  tests.set({ ...tests.get(), bodies: { ...tests.get().bodies, ...bodies } })
}

/** What a question about these matrices brings; nothing where they are those of the server. */
export function broughtWith({ changed, bodies }: Tests): object {
  const matrices = Object.fromEntries(Object.entries(changed).map(([name, { rows }]) => [name, rows]))
  const some = <T extends object>(key: string, value: T) => (Object.keys(value).length > 0 ? { [key]: value } : {})
  return { ...some('matrices', matrices), ...some('bodies', bodies) }
}

/** Keeps what a run found, at the rows that it was asked about: `asked`, when it began. */
export async function takeRun(run: MatrixRun, asked: Tests, signal: AbortSignal): Promise<void> {
  if (Object.keys(broughtWith(asked)).length === 0) takeServed(run.matrices.result)
  const seen = await inSlices(seenIn(run, asked), signal)
  tests.set({ ...tests.get(), ...seen })
}

function* seenIn({ matrices, test }: MatrixRun, asked: Tests): Generator<unknown, Pick<Tests, 'found' | 'spots'>> {
  const spots = yield* spotsIn(matrices.result, asked)
  const found = new Map<readonly string[], Map<number, CellFound>>()
  const note = (place: CellPlace, one: CellFound) => {
    const [row, column] = spots.get(placeKey(place)) ?? [[], 0]
    const cells = found.get(row) ?? new Map<number, CellFound>()
    // A cell with several methods has several results: the worst is shown.
    if ((cells.get(column)?.meaning ?? 'expected') === 'expected') found.set(row, cells.set(column, one))
  }
  for (const { message, hint, ...place } of matrices.result.faults) {
    note(place, { meaning: 'wrong', short: '', why: [message, hint].filter(Boolean).join(': ') })
  }
  for (const { place, kind, outcome, status, why = '' } of test?.result.results ?? []) {
    const short = outcome === 'failed' && status !== undefined ? `got ${status}` : ''
    if (kind === 'cell') yield note(place, { meaning: MEANINGS[outcome], short, why })
  }
  return { found, spots }
}

/** The rows that a run was asked about, by the places that it names. */
function* spotsIn({ matrices }: ShownMatrices, asked: Tests): Generator<unknown, Tests['spots']> {
  const spots = new Map<string, readonly [readonly string[], number]>()
  for (const { file, places } of matrices) {
    const name = nameIn(file)
    const rows = rowsOf(name in asked.changed ? asked : tests.get(), name).filter(isFilled)
    for (const [i, cells] of places.entries()) {
      for (const [column, place] of cells.entries()) spots.set(`${name}:${place}`, [rows[i] ?? [], column])
      yield
    }
  }
  return spots
}

const MEANINGS = { passed: 'expected', failed: 'wrong', impossible: 'untried', 'left-out': 'left-out' } as const

type CellPlace = TrialResult['place']

function placeKey({ file, line, column }: CellPlace): string {
  return `${nameIn(file)}:${line}:${column}`
}

/** Where a cell of the last run stands now; undefined if its row has changed. */
export function spotOf(now: Tests, place: CellPlace): Spot | undefined {
  const [found, column] = now.spots.get(placeKey(place)) ?? [[], 0]
  const row = rowsOf(now, nameIn(place.file)).indexOf(found)
  return row < 0 ? undefined : { row, column }
}

export function nameIn(file: string): string {
  return file.slice(file.lastIndexOf('/') + 1)
}

/** Empty rows don't count. */
function isFilled(row: readonly string[]): boolean {
  return row.some((cell) => cell.trim() !== '')
}

export function isSame(one: MatrixRows, other: MatrixRows): boolean {
  return one.length === other.length && one.every((row, i) => isSameRow(row, other[i] ?? []))
}

function isSameRow(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((cell, i) => cell === other[i])
}
