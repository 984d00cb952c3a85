/** Plain JavaScript for the browser: the panel that tells why a cell is as it is. Text goes in as text, never as markup. */

export const PANEL_SCRIPT = `
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
  outcome.replaceChildren(element('span', 'key ' + tone(cell), cell.outcome === 'denied' ? 'denied' : 'allowed'), extent(cell, row))
  panelBody.replaceChildren(
    element('p', 'who', data.callers[column].name),
    element('p', 'what', row.methods.join(', ') + ' ' + row.path),
    element('p', 'quiet', data.callers[column].description),
    ...section('Relation', row.about && element('p', '', row.about), element('p', 'quiet', row.object)),
    ...section('Why', element('p', '', cell.reason), cell.until && element('p', 'until', 'Until ' + cell.until + '; then it is another.'), ...cell.rules.map(rule)),
    ...fieldLists(cell, row),
  )
}

function tone(cell) {
  if (cell.outcome === 'denied') return 'no'
  return cell.granted === 'all' ? 'all' : 'some'
}

function extent(cell, row) {
  if (cell.outcome === 'denied' || row.fields.length === 0) return ''
  if (cell.granted === 'all') return row.view ? 'all fields of the view ' + row.view : 'all fields'
  const views = cell.views.length > 0 ? ' (' + cell.views.join(', ') + ')' : ''
  return cell.fields.length + ' of ' + row.fields.length + ' fields' + views
}

function rule(line) {
  const { place, effect, text } = data.rules[line]
  return element('div', 'rule ' + effect, element('b', '', place + ' ' + effect), element('code', '', text))
}

function fieldLists(cell, row) {
  const refused = row.fields.filter((field) => !cell.fields.includes(field))
  return [...fieldList('granted', cell.fields), ...fieldList('refused', refused)]
}

function fieldList(kind, fields) {
  if (fields.length === 0) return []
  const list = element('ul', 'fields ' + kind, ...fields.map((field) => element('li', '', field)))
  return section('Fields ' + kind + ' (' + fields.length + ')', list)
}

function section(title, ...children) {
  return [element('h3', '', title), ...children.filter(Boolean)]
}

panel.querySelector('.close').addEventListener('click', closePanel)
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !panel.hidden) closePanel()
})
`
