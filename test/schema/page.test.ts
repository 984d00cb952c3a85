/** docs/changing-schemas.md, run as printed. */
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'

describe('docs/changing-schemas.md', () => {
  let page: PlayedPage

  before(async () => {
    page = await playPage('docs/changing-schemas.md', [])
  })
  after(() => page?.stop())

  it('shows what its commands print', () => {
    expect(page.blocks.length).to.be.greaterThan(2)
    for (const { commands, output, printed } of page.blocks) {
      expect(missingFrom(printed, output), `${commands.join('\n')}\n${printed}`).to.deep.equal([])
      expect(printed).not.to.match(/^failed/m)
    }
  })

  it('a line that was not printed would be found', () => {
    const [first] = page.blocks
    expect(missingFrom(first?.printed ?? '', ['nothing was found'])).to.deep.equal(['nothing was found'])
  })
}).timeout(120_000)
