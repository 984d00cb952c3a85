// The access matrix in the browser: the grid and its keys, the panel that explains a cell, and the filters.

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
  // The sticky heads cover cells that are scrolled beneath them.
  scroll.style.scrollPadding = `${heads[0].offsetHeight + 4}px 8px 8px ${heads[0].offsetWidth + 4}px`
  cell.focus()
  // Focus alone leaves a cell where it is that is partly in sight.
  cell.scrollIntoView({ block: 'nearest', inline: 'nearest' })
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

const panel = document.querySelector('.panel')
const panelBody = panel.querySelector('.body')
const outcome = document.getElementById('outcome')

function element(tag, className, ...children) {
  const made = document.createElement(tag)
  made.className = className
  made.append(...children)
  return made
}

function openPanel(cell, takeFocus) {
  panel.hidden = false
  table.classList.add('reading')
  fillPanel(cell)
  if (takeFocus) outcome.focus()
}

function closePanel() {
  const inside = panel.contains(document.activeElement)
  panel.hidden = true
  table.classList.remove('reading')
  table.querySelector('td.open')?.classList.remove('open')
  if (inside && current) go(current)
}

function fillPanel(td) {
  table.querySelector('td.open')?.classList.remove('open')
  td.classList.add('open')
  const { row: index, column } = spot(td)
  const row = data.rows[index]
  const cell = data.cells[row.cells[column]]
  outcome.replaceChildren(
    element('span', `key ${tone(cell)}`, cell.outcome === 'denied' ? 'denied' : 'allowed'),
    extent(cell, row),
  )
  panelBody.replaceChildren(
    element('p', 'who', data.callers[column].name),
    element('p', 'what', `${row.methods.join(', ')} ${row.path}`),
    element('p', 'quiet', data.callers[column].description),
    ...section('Relation', row.about && element('p', '', row.about), element('p', 'quiet', row.object)),
    ...section(
      'Why',
      element('p', '', cell.reason),
      cell.until && element('p', 'until', `This answer is valid until ${cell.until}.`),
      ...cell.rules.map(rule),
    ),
    ...fieldLists(cell, row),
  )
}

function tone(cell) {
  if (cell.outcome === 'denied') return 'no'
  return cell.granted === 'all' ? 'all' : 'some'
}

function extent(cell, row) {
  if (cell.outcome === 'denied' || row.fields.length === 0) return ''
  if (cell.granted === 'all') return row.view ? `all fields of the view ${row.view}` : 'all fields'
  const views = cell.views.length > 0 ? ` (${cell.views.join(', ')})` : ''
  return `${cell.fields.length} of ${row.fields.length} fields${views}`
}

function rule(line) {
  const { place, effect, text } = data.rules[line]
  return element('div', `rule ${effect}`, element('b', '', `${place} ${effect}`), element('code', '', text))
}

function fieldLists(cell, row) {
  const refused = row.fields.filter((field) => !cell.fields.includes(field))
  return [...fieldList('granted', cell.fields), ...fieldList('refused', refused)]
}

function fieldList(kind, fields) {
  if (fields.length === 0) return []
  const list = element('ul', `fields ${kind}`, ...fields.map((field) => element('li', '', field)))
  return section(`Fields ${kind} (${fields.length})`, list)
}

function section(title, ...children) {
  return [element('h3', '', title), ...children.filter(Boolean)]
}

panel.querySelector('.close').addEventListener('click', closePanel)
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !panel.hidden) closePanel()
})

const form = document.querySelector('.filters')
const controls = form.elements
const nothing = document.querySelector('.nothing')
const narrowed = new CSSStyleSheet()
document.adoptedStyleSheets = [narrowed]

// The searchable text of each row: its head, and the lines of the rules that decide its cells.
const haystacks = data.rows.map((row) => {
  const places = new Set(row.cells.flatMap((cell) => data.cells[cell].rules))
  const words = [row.resource, ...row.methods, row.path, row.action, row.relation, ...row.fields]
  return `${words.join(' ')} ${[...places].map((line) => `${data.rules[line].place} `).join('')}`.toLowerCase()
})
const CLASSES = { allowed: ['all', 'some'], all: ['all'], some: ['some'], no: ['no'] }

function matcher() {
  const words = controls.text.value.toLowerCase().split(/\s+/).filter(Boolean)
  // A line number must match exactly: policy.csv:1 isn't policy.csv:14.
  const has = (haystack, word) => (/:\d+$/.test(word) ? ` ${haystack}`.includes(` ${word} `) : haystack.includes(word))
  const { resource, method, outcome } = controls
  return (row, i) =>
    (resource.value === '' || row.resource === resource.value) &&
    (method.value === '' || row.methods.includes(method.value)) &&
    words.every((word) => has(haystacks[i], word)) &&
    (outcome.value === '' || shownColumns().some((column) => hasOutcome(data.cells[row.cells[column]])))
}

function hasOutcome(cell) {
  return CLASSES[controls.outcome.value].includes(tone(cell))
}

function narrowTo(caller) {
  chosenCaller = data.callers.findIndex(({ name }) => name === caller)
  const rule = `tr > :not(:first-child):not(:nth-child(${chosenCaller + 2})) { display: none }`
  table.classList.toggle('one', chosenCaller >= 0)
  narrowed.replaceSync(chosenCaller < 0 ? '' : rule)
}

function apply() {
  narrowTo(controls.caller.value)
  const fits = matcher()
  lines.forEach((line, i) => {
    line.hidden = !fits(data.rows[i], i)
  })
  for (const body of table.tBodies) body.hidden = ![...body.rows].some((line) => line.matches('.row') && !line.hidden)
  table.dataset.outcome = controls.outcome.value
  table.classList.toggle('lines', controls.lines.checked)
  const rows = shownRows()
  nothing.hidden = rows.length > 0
  form.querySelector('output').value = `${rows.length} of ${lines.length} rows`
  keepOneInTabOrder(rows)
}

function keepOneInTabOrder(rows) {
  const at = current && spot(current)
  if (at && rows.includes(at.row) && shownColumns().includes(at.column)) return
  if (!panel.hidden) closePanel()
  makeCurrent(rows.length > 0 && data.callers.length > 0 ? cellAt(rows[0], shownColumns()[0]) : undefined)
}

function remember() {
  const chosen = [...new FormData(form)].filter(([, value]) => value !== '')
  history.replaceState(null, '', `#${new URLSearchParams(chosen)}`)
}

function recall() {
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const control = controls.namedItem(name)
    if (control?.type === 'checkbox') control.checked = true
    else if (control?.name === name) control.value = value
    if (control?.selectedIndex === -1) control.value = ''
  }
}

form.addEventListener('input', () => {
  apply()
  remember()
})
form.querySelector('.clear').addEventListener('click', () => {
  form.reset()
  apply()
  remember()
})
form.addEventListener('submit', (event) => event.preventDefault())
document.addEventListener('keydown', (event) => {
  const typing = event.target.matches('input[type=search], select')
  if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return
  controls.text.focus()
  controls.text.select()
  event.preventDefault()
})
controls.text.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && current) go(current)
})
form.hidden = false
recall()
apply()
