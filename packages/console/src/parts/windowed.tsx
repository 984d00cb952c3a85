/**
 * A table whose rows and columns out of sight don't exist, so that many of them cost no more than a screenful. One
 * cell is in the order of the Tab key; the arrow keys move it (the grid pattern of ARIA). A `<table>` lays all its rows
 * out, so this is one by its roles (biome.json turns the rules against them off here).
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { moved, type Spot } from './spot.ts'

const ROW_PIXELS = 32
/** Rows beside those in sight. */
const SPARE = 4

export interface Column<T> {
  readonly title: string
  /** CSS pixels. */
  readonly width: number
  readonly show: (row: T) => ComponentChildren
  readonly meaning?: (row: T) => string
  readonly isCode?: boolean
}

interface WindowedProps<T> {
  readonly label: string
  readonly rows: readonly T[]
  readonly columns: readonly Column<T>[]
  readonly keyOf: (row: T) => string
  /** Rows are opened with Enter or a click; `opened` keeps its look. */
  readonly open: (row: T, column: number) => void
  readonly opened?: Spot | undefined
  /** What other keys do in a row; undefined for those that do nothing. The row may be gone from `rows` then. */
  readonly act?: (key: string, row: T) => 'next' | 'stay' | undefined
  /** Each new one is brought into sight, and gets the focus. */
  readonly goal?: Spot | undefined
}

export function Windowed<T>({ label, rows, columns, keyOf, open, opened, act, goal }: WindowedProps<T>) {
  const box = useRef<HTMLDivElement>(null)
  const [seen, setSeen] = useState<Seen>({ top: 0, height: 800, left: 0, width: 1600 })
  const [spot, setSpot] = useState<Spot>({ row: 0, column: 0 })
  const wantsFocus = useRef(false)
  const at = {
    row: Math.min(spot.row, Math.max(0, rows.length - 1)),
    column: Math.min(spot.column, columns.length - 1),
  }

  useEffect(() => {
    const measured = box.current
    if (!measured) return
    const watch = new ResizeObserver(() => setSeen(seenOf(measured)))
    watch.observe(measured)
    return () => watch.disconnect()
  }, [])
  useLayoutEffect(() => {
    if (!wantsFocus.current) return
    // It may not exist yet: then it gets the focus when it does. A table that got empty gives it away.
    const cell = box.current?.querySelector<HTMLElement>('[role=gridcell][tabindex="0"]')
    wantsFocus.current = cell === null && rows.length > 0
    cell?.focus()
  })

  useLayoutEffect(() => {
    if (!goal || !box.current) return
    wantsFocus.current = true
    setSpot(goal)
    bringIntoSight(box.current, goal.row)
    bringColumnIntoSight(box.current, columns, goal.column)
  }, [goal])

  const first = Math.max(0, Math.floor(seen.top / ROW_PIXELS) - SPARE)
  const last = Math.min(rows.length, Math.ceil((seen.top + seen.height) / ROW_PIXELS) + SPARE)
  // The row of the cell that the Tab key reaches exists always, and keeps its focus while it is out of sight.
  const rowsShown = rows.flatMap((row, r) => ((r >= first && r < last) || r === at.row ? [{ row, r }] : []))
  const width = columns.reduce((sum, column) => sum + column.width, 0)
  const shown = columnsInSight(columns, seen, at.column)
  const template = tracksOf(shown, width)

  const look = () => {
    if (box.current) setSeen(seenOf(box.current))
  }
  const press = (event: KeyboardEvent) => {
    const row = rows[at.row]
    if (event.key === 'Enter' && row) open(row, at.column)
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey
    const acted = row && isPlain ? act?.(event.key, row) : undefined
    const on = acted === 'next' ? { ...at, row: Math.min(at.row + 1, rows.length - 1) } : at
    const to = acted ? on : moved(event, at, { rows: rows.length, columns: columns.length })
    if (!to) return
    event.preventDefault()
    wantsFocus.current = true
    setSpot(to)
    if (!box.current) return
    bringIntoSight(box.current, to.row)
    bringColumnIntoSight(box.current, columns, to.column)
    look()
  }

  return (
    <div class="window" ref={box} onScroll={look}>
      <div
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length}
        style={{ minWidth: `${width}px` }}
        onKeyDown={press}
      >
        <div role="row" class="heads" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
          {shown.map(({ column: { title }, at: c }, i) => (
            <div key={`${c} ${title}`} role="columnheader" title={title} aria-colindex={c + 1} style={placeOf(i)}>
              {title}
            </div>
          ))}
        </div>
        <div role="rowgroup" style={{ height: `${rows.length * ROW_PIXELS}px` }}>
          {rowsShown.map(({ row, r }) => (
            <div
              key={keyOf(row)}
              role="row"
              class="line"
              aria-rowindex={r + 2}
              style={{ gridTemplateColumns: template, top: `${r * ROW_PIXELS}px` }}
            >
              {shown.map(({ column, at: c }, i) => (
                <div
                  key={`${c} ${column.title}`}
                  role="gridcell"
                  aria-colindex={c + 1}
                  style={placeOf(i)}
                  tabIndex={at.row === r && at.column === c ? 0 : -1}
                  class={classOf(column, row, opened?.row === r && opened.column === c)}
                  onFocus={() => setSpot({ row: r, column: c })}
                  onClick={() => open(row, c)}
                >
                  {column.show(row)}
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}

function classOf<T>({ meaning, isCode }: Column<T>, row: T, isOpen: boolean): string {
  return [meaning?.(row) ?? '', isCode ? 'mono' : '', isOpen ? 'open' : ''].filter(Boolean).join(' ')
}

/** What is in sight, in CSS pixels. */
interface Seen {
  readonly top: number
  readonly height: number
  readonly left: number
  readonly width: number
}

function seenOf(box: HTMLElement): Seen {
  return { top: box.scrollTop, height: box.clientHeight, left: box.scrollLeft, width: box.clientWidth }
}

interface Placed<T> {
  readonly column: Column<T>
  /** From 0. */
  readonly at: number
  /** Where it begins if no column is wider than it has to be, in CSS pixels. */
  readonly from: number
}

/** With one beside them, and with that of the cell which the Tab key reaches. Where there is room, columns are wider. */
function columnsInSight<T>(
  columns: readonly Column<T>[],
  { left, width }: Seen,
  current: number,
): readonly Placed<T>[] {
  const total = columns.reduce((sum, column) => sum + column.width, 0)
  const stretch = Math.max(1, width / total)
  let next = 0
  return columns.flatMap((column, at) => {
    const from = next
    next += column.width
    const isNear = next * stretch > left - column.width && from * stretch < left + width + column.width
    return isNear || at === current ? [{ column, at, from }] : []
  })
}

/** A track for each column in sight, and one before each for those out of sight: thousands would be laid out in each row. */
function tracksOf<T>(shown: readonly Placed<T>[], total: number): string {
  let end = 0
  const tracks = shown.map(({ column: { width }, from }) => {
    const gap = from - end
    end = from + width
    return `${gap}px minmax(${width}px, ${width}fr)`
  })
  return [...tracks, `${total - end}px`].join(' ')
}

/** `i`: among the columns in sight. */
function placeOf(i: number): { readonly gridColumn: number } {
  return { gridColumn: 2 * i + 2 }
}

function bringColumnIntoSight<T>(box: HTMLElement, columns: readonly Column<T>[], column: number): void {
  const from = columns.slice(0, column).reduce((sum, one) => sum + one.width, 0)
  const to = from + (columns[column]?.width ?? 0)
  if (from < box.scrollLeft) box.scrollLeft = from
  else if (to > box.scrollLeft + box.clientWidth) box.scrollLeft = to - box.clientWidth
}

/** The heads cover the first row of what is in sight. */
function bringIntoSight(box: HTMLElement, row: number): void {
  const top = row * ROW_PIXELS
  const room = box.clientHeight - 2 * ROW_PIXELS
  if (top < box.scrollTop) box.scrollTop = top
  else if (top > box.scrollTop + room) box.scrollTop = top - room
}
