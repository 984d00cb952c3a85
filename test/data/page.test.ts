/** docs/data.md: all its commands work as printed. */
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'

describe('docs/data.md', () => {
  let page: PlayedPage

  before(async () => {
    page = await playPage('docs/data.md', ['npm start'])
  }).timeout(300_000)
  after(() => page.stop())

  it('shows what its commands print', () => {
    expect(page.blocks.filter(({ output }) => output.length > 0)).to.have.length.at.least(5)
    for (const { printed, output } of page.blocks) expect(missingFrom(printed, output), printed).to.deep.equal([])
  })

  it('has three commands that end with findings', () => {
    const failed = page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])
    expect(failed).to.deep.equal([
      'failed 1: npm run -s sallyport -- data check --schemas schemas-next --resource orders',
      'failed 1: npm run -s sallyport -- data import alice.ndjson --as alice',
      'failed 1: npm run -s sallyport -- data import alice.ndjson --as alice',
    ])
  })
})
