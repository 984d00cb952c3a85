/** The HTML page of a matrix, in a real browser: what it shows, filters and explains. */
import { expect } from 'chai'
import { columnOf, type JsonRow, placeOf, withShippedPage } from './shipped-page.ts'

describe('the page of a matrix', () => {
  const shipped = withShippedPage()
  const visibleRows = async () => {
    const heads = await shipped.open.page.locator('tr.row:visible th').allInnerTexts()
    return heads.map((text) => text.replaceAll(/\s+/g, ' ').trim())
  }
  const headOf = ({ methods, path, relation, becomes }: JsonRow) => {
    const how = becomes === undefined ? relation : `${relation}>${becomes}`
    return `${methods.join(' ')} ${path}${relation === '-' ? '' : ` ${how}`}`
  }

  it('shows in each cell what the JSON says', async () => {
    const shown = await shipped.open.rows.evaluateAll<string[][], HTMLTableRow>((lines) =>
      lines.map((line) => [...line.cells].slice(1).map((cell) => `${cell.className} ${cell.textContent}`)),
    )
    const said = shipped.rows.map(({ cells, fields }) =>
      cells.map(({ outcome, granted, views, fields: some }) => {
        if (outcome === 'denied') return 'no –'
        return granted === 'all' ? 'all all' : `some ${views.join('|') || `${some.length}/${fields.length}`}`
      }),
    )
    expect(shown).to.deep.equal(said)
    expect(await visibleRows()).to.deep.equal(shipped.rows.map(headOf))
  })

  it('is a grid to assistive technology, and says denied where it shows a dash', async () => {
    const session = await shipped.open.page.context().newCDPSession(shipped.open.page)
    const { nodes } = await session.send('Accessibility.getFullAXTree')
    const count = (role: string) => nodes.filter((node) => node.role?.value === role && !node.ignored).length
    expect(count('grid')).to.equal(1)
    expect(count('gridcell')).to.equal(shipped.rows.length * 7)
    expect(count('rowheader')).to.be.at.least(shipped.rows.length)
    expect(count('columnheader')).to.equal(8)
    expect(nodes.filter(({ role, name }) => role?.value === 'gridcell' && !name?.value)).to.deep.equal([])
    expect(nodes.some(({ role, name }) => role?.value === 'gridcell' && name?.value === 'denied')).to.equal(true)
  })

  it('filters by text, resource, method, caller and outcome, and says how many rows fit', async () => {
    const { page } = shipped.open
    await page.getByLabel('Find').fill('{id}/balance owner')
    expect(await visibleRows()).to.deep.equal(['GET HEAD /api/accounts/{id}/balance owner'])
    expect(await page.locator('output').innerText()).to.equal(`1 of ${shipped.rows.length} rows`)
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('Resource').selectOption('orders')
    await page.getByLabel('Method').selectOption('HEAD')
    await page.getByLabel('Outcome').selectOption('denied')
    await page.getByLabel('Caller').selectOption('member')
    expect(await visibleRows()).to.deep.equal(['GET HEAD /api/orders none', 'GET HEAD /api/orders/{id} none'])
    expect(await page.locator('thead th:visible').allInnerTexts()).to.have.length(2)
    expect(await page.locator('tr.row:visible td:visible').allInnerTexts()).to.deep.equal(['–', '–'])
    await page.getByLabel('Method').selectOption('')
    await page.getByLabel('Outcome').selectOption('some fields')
    await page.getByLabel('Caller').selectOption('support')
    expect(await visibleRows()).to.deep.equal(shipped.rows.filter(isPartOfOrders).map(headOf))
    await page.getByLabel('Find').fill('no such thing')
    expect(await page.getByText('No row matches these filters.').isVisible()).to.equal(true)
    await page.getByRole('button', { name: 'Clear' }).click()
    expect(await visibleRows()).to.have.length(shipped.rows.length)
  })

  const isPartOfOrders = ({ resource, cells }: JsonRow) =>
    resource === 'orders' && cells.some(({ caller, granted }) => caller === 'support' && granted === 'some')

  it('finds the rows that a line of policy.csv decides', async () => {
    const decided = (place: string) =>
      shipped.rows.filter(({ cells }) => cells.some(({ rules }) => rules.some((rule) => rule.place === place)))
    for (const place of ['policy.csv:28', 'policy.csv:2']) {
      await shipped.open.page.getByLabel('Find').fill(place)
      expect(await visibleRows(), place).to.deep.equal(decided(place).map(headOf))
    }
    expect(decided('policy.csv:28')).not.to.deep.equal([])
  })

  it('keeps the filters in its address', async () => {
    const { page } = shipped.open
    await page.getByLabel('Caller').selectOption('auditor')
    await page.getByLabel('Outcome').selectOption('allowed')
    const before = await visibleRows()
    await page.reload()
    expect(await page.getByLabel('Caller').inputValue()).to.equal('auditor')
    expect(await visibleRows()).to.deep.equal(before)
    expect(before.length).to.be.lessThan(shipped.rows.length)
  })

  it('tells in a panel why a cell is as it is', async () => {
    const at = placeOf(shipped.rows, 'PATCH', '/api/orders/{id}', 'placed+open')
    await shipped.open.cell(at, columnOf(shipped.rows, 'support')).click()
    const panel = shipped.open.page.getByRole('dialog')
    const text = await panel.innerText()
    expect(text).to.contain('allowed').and.to.contain('1 of 8 fields (progress)')
    expect(text).to.contain('PATCH /api/orders/{id}').and.to.contain('placed and open hold')
    expect(text).to.match(/policy\.csv:\d+ allow\s+p, support, orders, update, +placed>shipped, progress, allow/)
    expect(await panel.locator('.granted li').allInnerTexts()).to.deep.equal(['status'])
    expect(await panel.locator('.refused li').allInnerTexts()).to.have.length(7)
    await shipped.open.cell(at, columnOf(shipped.rows, 'auditor')).click()
    expect(await panel.innerText()).to.match(/denied.*No rule allows it.*policy\.csv:\d+ deny/s)
    await panel.getByRole('button', { name: 'Close' }).click()
    expect(await panel.isVisible()).to.equal(false)
  })
})

/** The part of the DOM that a callback in the browser is given here. */
interface HTMLTableRow {
  readonly cells: Iterable<{ readonly className: string; readonly textContent: string }>
}
