/** The HTML page of a matrix, in a real browser: worked from the keyboard, in the dark, and on paper. */
import { expect } from 'chai'
import { placeOf, withShippedPage } from './shipped-page.ts'

describe('the page of a matrix in use', () => {
  const shipped = withShippedPage()

  const focused = () => shipped.open.page.evaluate<string>(`document.activeElement.textContent`)
  const focusedPlace = () =>
    shipped.open.page.evaluate<[number, number]>(`(() => {
      const cell = document.activeElement
      return [[...document.querySelectorAll('tr.row')].indexOf(cell.parentNode), cell.cellIndex - 1]
    })()`)

  it('is worked from the keyboard alone', async () => {
    const { page } = shipped.open
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    await press('/')
    await page.keyboard.type('/api/orders/{id}')
    await press('Enter')
    const first = placeOf(shipped.rows, 'GET', '/api/orders/{id}', 'none')
    expect(await focusedPlace()).to.deep.equal([first, 0])
    await press('ArrowDown', 'ArrowRight', 'ArrowRight')
    expect(await focusedPlace()).to.deep.equal([first + 1, 2])
    await press('End', 'Home', 'ArrowLeft', 'ArrowUp', 'ArrowUp')
    expect(await focusedPlace()).to.deep.equal([first, 0])
    await press('Control+End')
    expect(await focusedPlace()).to.deep.equal([placeOf(shipped.rows, 'OPTIONS', '/api/orders/{id}/ship', '-'), 6])
    await press('Enter')
    expect(await focused()).to.match(/^allowed/)
    expect(await page.getByRole('dialog').innerText()).to.contain('OPTIONS /api/orders/{id}/ship')
    await press('Escape')
    expect(await page.getByRole('dialog').isVisible()).to.equal(false)
    expect((await focusedPlace())[1]).to.equal(6)
    expect(await page.locator('td[tabindex="0"]').count()).to.equal(1)
  })

  it('keeps what has the focus in sight, beside what sticks to the edges', async () => {
    await shipped.open.page.setViewportSize({ width: 700, height: 500 })
    await shipped.open.cell(0, 0).click()
    await shipped.open.page.keyboard.press('Escape')
    for (const key of ['Control+End', 'Control+Home', 'PageDown', 'End', 'Home', 'PageUp']) {
      await shipped.open.page.keyboard.press(key)
      expect(await shipped.open.page.evaluate(IS_ON_TOP), key).to.equal(true)
    }
  })

  it('is dark where dark is asked for, and readable either way', async () => {
    const luminance: number[] = []
    for (const colorScheme of ['light', 'dark'] as const) {
      await shipped.open.page.emulateMedia({ colorScheme })
      const contrasts = await shipped.open.page.evaluate<{ page: number; contrasts: number[] }>(CONTRASTS)
      luminance.push(contrasts.page)
      expect(Math.min(...contrasts.contrasts), colorScheme).to.be.at.least(4.5)
    }
    expect(luminance[0]).to.be.greaterThan(0.8)
    expect(luminance[1]).to.be.lessThan(0.05)
  })

  it('prints on landscape pages, with headings on each, rules, and nothing to click', async () => {
    const { page } = shipped.open
    await shipped.open.cell(2, 2).click()
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1')
    const [width = 0, height = 0] = /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(pdf)?.slice(1).map(Number) ?? []
    expect(width).to.be.greaterThan(height)
    expect(height).to.be.greaterThan(0)
    // At least 15 rows on each page: paper isn't wasted.
    const rows = await page.locator('tbody tr').count()
    expect(pdf.match(/\/Type \/Page\b/g)?.length).to.be.within(3, Math.ceil(rows / 15))
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('form').isVisible()).to.equal(false)
    expect(await page.getByRole('dialog').isVisible()).to.equal(false)
    expect(await page.evaluate(`getComputedStyle(document.querySelector('thead')).display`)).to.equal(
      'table-header-group',
    )
    expect(await page.locator('.rules dd').first().innerText()).to.match(/^p, everyone, system\/health/)
    expect(await page.evaluate(`getComputedStyle(document.querySelector('td.all'), '::after').content`)).to.match(
      /^"\d+/,
    )
  })
})

/** The middle of the focused cell is neither scrolled away nor covered. */
const IS_ON_TOP = `(() => {
  const cell = document.activeElement
  const { x, y, width, height } = cell.getBoundingClientRect()
  return document.elementFromPoint(x + width / 2, y + height / 2) === cell
})()`

/** WCAG 2.2: relative luminance of the page, and contrast of text on what is behind it. */
const CONTRASTS = `(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number)
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)
  const luminance = (colour) => {
    const [r, g, b] = channels(colour).map(linear)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (node) => {
    const colour = getComputedStyle(node).backgroundColor
    return colour === 'rgba(0, 0, 0, 0)' ? behind(node.parentElement) : colour
  }
  const contrast = (node) => {
    const [light, dark] = [getComputedStyle(node).color, behind(node)].map(luminance).sort((a, b) => b - a)
    return (light + 0.05) / (dark + 0.05)
  }
  const texts = ['td.all', 'td.some', 'td.no', '.m', '.p', '.again .p', 'tr .r', 'thead th', 'header p', 'select', 'output', 'label']
  return {
    page: luminance(getComputedStyle(document.body).backgroundColor),
    contrasts: texts.map((selector) => contrast(document.querySelector(selector))),
  }
})()`
