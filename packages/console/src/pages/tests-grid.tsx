/** A matrix as a table that somebody changes cell by cell, with what a run found at each cell. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Spot } from '../parts/spot.ts'
import { type Column, Windowed } from '../parts/windowed.tsx'
import { type CellFound, changeRows, type MatrixRows, type tests } from './tests-store.ts'

type Row = readonly string[]
type Found = ReturnType<typeof tests.get>['found']

interface MatrixGridProps {
  readonly name: string
  readonly rows: MatrixRows
  readonly found: Found
  /** Of the rows; the first row is always shown. */
  readonly isShown: (row: Row) => boolean
  readonly goal: Spot | undefined
  /** Somebody opened the number of this row, from 0. */
  readonly choose: (row: number) => void
}

export function MatrixGrid({ name, rows, found, isShown, goal, choose }: MatrixGridProps) {
  const [edited, setEdited] = useState<Spot>()
  const numbers = useMemo(() => new Map(rows.map((row, i) => [row, i])), [rows])
  const shown = useMemo(() => rows.filter((row, i) => i === 0 || isShown(row)), [rows, isShown])
  const shownGoal = useMemo(
    () => goal && { row: Math.max(0, shown.indexOf(rows[goal.row] ?? [])), column: goal.column + 1 },
    [goal],
  )
  const [heads = []] = rows
  const leave = () => setEdited(undefined)
  const close = () => {
    leave()
    document.querySelector<HTMLElement>('[role=gridcell][tabindex="0"]')?.focus()
  }
  const cell = (column: number) => (row: Row) => {
    const number = numbers.get(row) ?? 0
    const text = row[column] ?? ''
    if (edited?.row !== number || edited.column !== column)
      return <CellText text={text} found={found.get(row)?.get(column)} />
    const label = `${heads[column] || `column ${column + 1}`} of row ${number + 1}`
    return (
      <CellInput
        label={label}
        text={text}
        close={close}
        leave={leave}
        keep={(next) => changeCell(name, { row: number, column }, next)}
      />
    )
  }
  const columns: readonly Column<Row>[] = [
    { title: 'Row', width: 60, show: (row) => (numbers.get(row) ?? 0) + 1 },
    ...heads.map((head, column) => ({
      title: head || `(column ${column + 1})`,
      width: WIDTHS.get(head) ?? 90,
      show: cell(column),
      meaning: (row: Row) => found.get(row)?.get(column)?.meaning ?? '',
      isCode: true,
    })),
  ]
  return (
    <Windowed
      label={`Matrix ${name}`}
      rows={shown}
      columns={columns}
      keyOf={(row) => String(numbers.get(row))}
      open={(one, column) => {
        const row = numbers.get(one) ?? 0
        if (column === 0) choose(row)
        else setEdited({ row, column: column - 1 })
      }}
      goal={shownGoal}
    />
  )
}

/** Wider ones, in CSS pixels. */
const WIDTHS = new Map(Object.entries({ path: 210, object: 160, becomes: 120, body: 120, note: 220 }))

function CellText({ text, found }: { readonly text: string; readonly found: CellFound | undefined }) {
  if (!found || found.meaning === 'expected') return <>{text}</>
  return (
    <span title={found.why}>
      {text} {found.short}
    </span>
  )
}

interface CellInputProps {
  readonly label: string
  readonly text: string
  readonly keep: (text: string) => void
  /** The focus goes back to the cell, or is elsewhere already. */
  readonly close: () => void
  readonly leave: () => void
}

/** Keeps what is typed however it ends: by Enter, by Tab, by a click elsewhere, or by another page. Escape keeps it not. */
function CellInput({ label, text, keep, close, leave }: CellInputProps) {
  const input = useRef<HTMLInputElement>(null)
  const typed = useRef(text)
  // Before the next key.
  useLayoutEffect(() => {
    input.current?.focus()
    input.current?.select()
    return () => {
      if (typed.current !== text) keep(typed.current)
    }
  }, [])
  const press = (event: KeyboardEvent) => {
    // The arrow keys move within the text, and not between cells.
    event.stopPropagation()
    if (event.key === 'Escape') typed.current = text
    if (event.key === 'Enter' || event.key === 'Escape') close()
  }
  return (
    <input
      ref={input}
      class="cell"
      aria-label={label}
      defaultValue={text}
      spellcheck={false}
      autocomplete="off"
      onInput={(event) => {
        typed.current = event.currentTarget.value
      }}
      onKeyDown={press}
      onClick={(event) => event.stopPropagation()}
      onBlur={leave}
    />
  )
}

/** A row may be shorter than the first one. */
function changeCell(name: string, { row, column }: Spot, text: string): void {
  changeRows(name, (rows) => {
    const before = rows[row] ?? []
    const padded = Array.from({ length: Math.max(before.length, column + 1) }, (_, i) => before[i] ?? '')
    return rows.with(row, padded.with(column, text))
  })
}
