/** docs/authzen.md: its commands, run as printed, what check, diff and explain say about trust, and its table of reasons. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { DENIAL_REASONS } from '../../src/server/authzen/trust.ts'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'
import { program } from '../programs.ts'

const PAGE = readFileSync(new URL('../../docs/authzen.md', import.meta.url), 'utf8')

describe('docs/authzen.md', () => {
  let page: PlayedPage
  before(async () => {
    program('curl')
    page = await playPage('docs/authzen.md', ['npm start'])
  })
  after(() => page.stop())

  it('shows what its commands print', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length.at.least(8)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
    expect(missingFrom(shown[0]?.printed ?? '', ['what nobody printed'])).to.deep.equal(['what nobody printed'])
  })

  it('has no command that fails', () => {
    const failed = page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])
    expect(failed).to.deep.equal([])
  })

  it('has each reason of a denial, and no other', () => {
    const [, table = ''] = /\| reason \| means \|\n(.*?)\n\n/s.exec(PAGE) ?? []
    const rows = [...table.matchAll(/^\| `([a-z-]+)` \| (.+) \|$/gm)]
    expect(rows.map(([, code, text]) => [code, text])).to.deep.equal(Object.entries(DENIAL_REASONS))
  })
})
