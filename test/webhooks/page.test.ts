/** docs/webhooks.md, run as printed: a subscription, a receiver that verifies signatures, and what it is sent. */
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'
import { program } from '../programs.ts'

const SERVE = 'WEBHOOK_NETWORKS=127.0.0.0/8 WEBHOOK_CA=crt.pem npm start'
const RECEIVE = 'npx node examples/webhook-receiver.ts erp.secret 8443'

describe('docs/webhooks.md', () => {
  let page: PlayedPage
  before(async () => {
    for (const name of ['curl', 'openssl'] as const) program(name)
    page = await playPage('docs/webhooks.md', [SERVE, RECEIVE], { ports: ['8443'] })
  })
  after(() => page?.stop())

  it('shows what its commands print, and no command fails', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length(2)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
    expect(missingFrom(shown[0]?.printed ?? '', ['what nobody printed'])).to.deep.equal(['what nobody printed'])
    expect(page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])).to.deep.equal([])
  })
})
