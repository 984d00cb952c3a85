/** docs/approvals.md, run as printed: the day of a proposal, with a real server. */
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PageRun, runPage } from '../published/run-page.ts'

describe('docs/approvals.md', () => {
  let page: PageRun
  before(async function () {
    this.timeout(300_000)
    const serve = 'npm run -s sallyport -- serve 2> server.log'
    page = await runPage('docs/approvals.md', serve, ['openssl', 'ssh-agent'])
  })
  after(() => page?.end())

  it('shows what its commands print', () => {
    const { blocks, outputs } = page
    expect(blocks.filter((block) => block.output.length > 0)).to.have.length(14)
    for (const [i, { output }] of blocks.entries()) {
      expect(missingFrom(outputs[i] ?? '', output), outputs[i]).to.deep.equal([])
    }
  })

  it('every command ends as the page says: an author approves nothing, nobody publishes too early, and a break-glass waits', () => {
    const failed = page.outputs.join('\n').match(/^failed .*$/gm) ?? []
    expect(failed).to.deep.equal([
      'failed 2: npm run -s sallyport -- policy approve 1 --key ada',
      'failed 2: npm run -s sallyport -- policy publish 1',
      'failed 1: npm run -s sallyport -- policy status',
      'failed 2: npm run -s sallyport -- access approve 4 --key ada',
    ])
  })
})
