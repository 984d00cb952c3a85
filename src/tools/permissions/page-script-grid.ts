/** Plain JavaScript for the browser: the grid, and moving over it with the keyboard (one cell is in the tab order). */

export const GRID_SCRIPT = `
const data = JSON.parse(document.getElementById('data').textContent)
const table = document.querySelector('table')
const scroll = document.querySelector('.scroll')
const heads = [...table.tHead.rows[0].cells]
const lines = [...table.querySelectorAll('tr.row')]
const rowOf = new Map(lines.map((line, i) => [line, i]))
let current

const spot = (cell) => ({ row: rowOf.get(cell.parentNode), column: cell.cellIndex - 1 })
const cellAt = (row, column) => lines[row].cells[column + 1]
const shownRows = () => lines.flatMap((line, i) => (line.hidden ? [] : [i]))
const shownColumns = () => (chosenCaller < 0 ? data.callers.map((_, i) => i) : [chosenCaller])
let chosenCaller = -1

function mark(cell, on) {
  cell.parentNode.cells[0].classList.toggle('here', on)
  heads[cell.cellIndex].classList.toggle('here', on)
  cell.tabIndex = on ? 0 : -1
}

function makeCurrent(cell) {
  if (current) mark(current, false)
  current = cell
  if (current) mark(current, true)
}

function go(cell) {
  makeCurrent(cell)
  // What sticks to the edges covers cells that are scrolled beneath it.
  scroll.style.scrollPadding = heads[0].offsetHeight + 4 + 'px 8px 8px ' + (heads[0].offsetWidth + 4) + 'px'
  cell.focus()
}

const STEPS = {
  ArrowUp: (at) => ({ ...at, row: at.row - 1 }),
  ArrowDown: (at) => ({ ...at, row: at.row + 1 }),
  ArrowLeft: (at) => ({ ...at, column: at.column - 1 }),
  ArrowRight: (at) => ({ ...at, column: at.column + 1 }),
  PageUp: (at) => ({ ...at, row: at.row - 10 }),
  PageDown: (at) => ({ ...at, row: at.row + 10 }),
  Home: (at, event) => ({ column: 0, row: event.ctrlKey ? 0 : at.row }),
  End: (at, event) => ({ column: Infinity, row: event.ctrlKey ? Infinity : at.row }),
}

function step(event) {
  const { row, column } = spot(current)
  const rows = shownRows()
  const columns = shownColumns()
  const to = STEPS[event.key]({ row: rows.indexOf(row), column: columns.indexOf(column) }, event)
  const within = (i, list) => list[Math.max(0, Math.min(i, list.length - 1))]
  go(cellAt(within(to.row, rows), within(to.column, columns)))
}

table.addEventListener('keydown', (event) => {
  if (!event.target.matches('td') || event.altKey || event.metaKey) return
  if (STEPS[event.key]) step(event)
  else if (event.key === 'Enter' || event.key === ' ') openPanel(event.target, true)
  else return
  event.preventDefault()
})
table.addEventListener('focusin', (event) => {
  if (!event.target.matches('td')) return
  makeCurrent(event.target)
  if (!panel.hidden) fillPanel(event.target)
})
table.addEventListener('click', (event) => {
  const cell = event.target.closest('td')
  if (!cell) return
  go(cell)
  openPanel(cell, false)
})
`
