/** docs/callers.md, run as printed: what check, diff and explain say about trust; and its table of sources. */
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'
import { INSTALL_MS } from '../programs.ts'

const PAGE = 'docs/callers.md'

describe(PAGE, () => {
  let page: PlayedPage
  before(async () => {
    page = await playPage(PAGE, [])
  }).timeout(INSTALL_MS)
  after(() => page.stop())

  it('shows what its commands print', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length.at.least(3)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
    expect(missingFrom(shown[0]?.printed ?? '', ['what nobody printed'])).to.deep.equal(['what nobody printed'])
  })

  it('has no command that fails', () => {
    expect(page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])).to.deep.equal([])
  })
})
