/** docs/published-policies.md, run as printed: keys, versions, an instance that follows them, and a key it doesn't trust. */
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PageRun, runPage } from './run-page.ts'

describe('docs/published-policies.md', () => {
  let page: PageRun
  before(async () => {
    const serve = 'POLICIES=database: npm run -s sallyport -- serve 2> server.log'
    page = await runPage('docs/published-policies.md', serve, ['curl', 'openssl'])
  })
  after(() => page?.end())

  it('shows what its commands print', () => {
    const { blocks, outputs } = page
    expect(blocks.filter((block) => block.output.length > 0)).to.have.length(6)
    for (const [i, { output }] of blocks.entries()) {
      expect(missingFrom(outputs[i] ?? '', output), outputs[i]).to.deep.equal([])
    }
    expect(missingFrom(outputs[1] ?? '', ['what nobody printed'])).to.deep.equal(['what nobody printed'])
  })

  it('every command ends as the page says: only the last status finds that an instance is behind', () => {
    const failed = page.outputs.join('\n').match(/^failed .*$/gm) ?? []
    expect(failed).to.deep.equal(['failed 1: npm run -s sallyport -- policy status --wait 3s'])
  })
})
