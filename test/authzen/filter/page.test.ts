/** docs/filters.md: its commands work as printed, print what it shows, and its table of types is complete. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { COLUMN_TYPES } from '../../../src/resources/built-in/filter-schemas.ts'
import { missingFrom } from '../../documented.ts'
import { type PlayedPage, playPage } from '../../page.ts'

const PAGE = readFileSync(new URL('../../../docs/filters.md', import.meta.url), 'utf8')

describe('docs/filters.md', () => {
  let page: PlayedPage
  before(async () => {
    page = await playPage('docs/filters.md', ['npm start'])
  })
  after(() => page.stop())

  it('has commands that all work, and print what it shows', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length(2)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
    expect(page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])).to.deep.equal([])
  })

  it('has each type of a column, and no other', () => {
    const table = PAGE.split('| type | for fields |')[1]?.split('\n\n')[0] ?? ''
    const types = [...table.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, type]) => type)
    expect(new Set(types)).to.deep.equal(new Set(COLUMN_TYPES))
  })
})
