/** Plain JavaScript for the browser: the filters, which the address keeps so that a view can be shared. */

export const FILTER_SCRIPT = `
const form = document.querySelector('.filters')
const controls = form.elements
const nothing = document.querySelector('.nothing')
const narrowed = new CSSStyleSheet()
document.adoptedStyleSheets = [narrowed]

// What each row can be found by: its head, and the lines of the rules that decide its cells.
const haystacks = data.rows.map((row) => {
  const places = new Set(row.cells.flatMap((cell) => data.cells[cell].rules))
  const words = [row.resource, ...row.methods, row.path, row.action, row.relation, ...row.fields]
  return (words.join(' ') + ' ' + [...places].map((line) => data.rules[line].place + ' ').join('')).toLowerCase()
})
const CLASSES = { allowed: ['all', 'some'], all: ['all'], some: ['some'], no: ['no'] }

function matcher() {
  const words = controls.text.value.toLowerCase().split(/\\s+/).filter(Boolean)
  // A line is meant exactly: policy.csv:1 isn't policy.csv:14.
  const has = (haystack, word) => (/:\\d+$/.test(word) ? (' ' + haystack).includes(' ' + word + ' ') : haystack.includes(word))
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
  const rule = 'tr > :not(:first-child):not(:nth-child(' + (chosenCaller + 2) + ')) { display: none }'
  table.classList.toggle('one', chosenCaller >= 0)
  narrowed.replaceSync(chosenCaller < 0 ? '' : rule)
}

function apply() {
  narrowTo(controls.caller.value)
  const fits = matcher()
  lines.forEach((line, i) => { line.hidden = !fits(data.rows[i], i) })
  for (const body of table.tBodies) body.hidden = ![...body.rows].some((line) => line.matches('.row') && !line.hidden)
  table.dataset.outcome = controls.outcome.value
  table.classList.toggle('lines', controls.lines.checked)
  const rows = shownRows()
  nothing.hidden = rows.length > 0
  form.querySelector('output').value = rows.length + ' of ' + lines.length + ' rows'
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
  history.replaceState(null, '', '#' + new URLSearchParams(chosen))
}

function recall() {
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const control = controls.namedItem(name)
    if (control?.type === 'checkbox') control.checked = true
    else if (control?.name === name) control.value = value
    if (control?.selectedIndex === -1) control.value = ''
  }
}

form.addEventListener('input', () => { apply(); remember() })
form.querySelector('.clear').addEventListener('click', () => { form.reset(); apply(); remember() })
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
`
