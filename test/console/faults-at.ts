/** What axe-core finds on a page, in the colours and widths that the test names. */
import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const ALL = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** What isn't broken is described in no detail: that took longer than the rules. */
const BRIEFLY = { resultTypes: ['violations'], selectors: false } as const
/** Other colours change the contrast alone. */
const RULES = {
  light: { runOnly: ALL, ...BRIEFLY },
  dark: { runOnly: ['color-contrast'], ...BRIEFLY },
} as const
/** In which a page is left: on a narrow one, columns of a table are out of sight, and don't exist. */
const LEFT = { width: 1440, height: 600 }
const WIDTHS = [360, 1440]

/** A line for each rule that the page breaks. A narrow page has hardly other colours than a wide one, so `dark` is one. */
export async function faultsAt(page: Page, name: string, light: readonly number[] = WIDTHS, dark = 360) {
  const widths = { light, dark: [dark] }
  const faults: string[] = []
  // By the protocol of the browser, for which the page's Content-Security-Policy makes an exception.
  await page.evaluate(axe.source)
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of widths[colorScheme]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 600 })
      const { violations } = await page.evaluate<AxeResults>(`axe.run(${JSON.stringify(RULES[colorScheme])})`)
      faults.push(...violations.map(({ id }) => `${name}, ${colorScheme} at ${width}: ${id}`))
    }
  }
  await page.setViewportSize(LEFT)
  return faults
}
