/**
 * docs/backup.md, run as printed: an archive is made of a running server, restored, and a second server runs on it; and
 * a caller's objects are exported and imported.
 */
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'
import { program } from '../programs.ts'

const PAGE = 'docs/backup.md'
const SECOND = 'PORT=3005 ADMIN_PORT=9091 DATA_DIR=drill/data POLICIES=drill/policies SCHEMAS=drill/schemas npm start'

describe(PAGE, () => {
  let page: PlayedPage
  before(async () => {
    program('curl')
    page = await playPage(PAGE, ['npm start', SECOND], { ports: ['3005', '9091'] })
  })
  after(() => page.stop())

  it('shows what its commands print', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length.at.least(7)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
    expect(missingFrom(shown[0]?.printed ?? '', ['what nobody printed'])).to.deep.equal(['what nobody printed'])
  })

  it('has no command that fails', () => {
    const failed = page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])
    expect(failed).to.deep.equal([])
  })
})
