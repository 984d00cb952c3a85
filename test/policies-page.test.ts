/** docs/policies.md: all its commands work as printed. */
import { expect } from 'chai'
import { type PlayedPage, playPage } from './page.ts'

describe('docs/policies.md', () => {
  let page: PlayedPage

  before(async () => {
    page = await playPage('docs/policies.md', [])
  })
  after(() => page.stop())

  it('has commands that all work, in six tasks', () => {
    expect(page.blocks.length).to.be.at.least(14)
    const failed = page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])
    expect(failed).to.deep.equal([])
  })
})
