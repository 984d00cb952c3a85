/** docs/access.md, run as printed beside the demo server. */
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'

const PAGE = 'docs/access.md'

describe(PAGE, () => {
  let page: PlayedPage
  before(async () => {
    page = await playPage(PAGE, ['npm start'])
  })
  after(() => page.stop())

  it('shows what its commands print', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length.at.least(2)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
    expect(missingFrom(shown[0]?.printed ?? '', ['what nobody printed'])).to.deep.equal(['what nobody printed'])
  })

  it('has no command that fails', () => {
    const failed = page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])
    expect(failed).to.deep.equal([])
  })
})
