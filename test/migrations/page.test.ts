/** docs/migrations.md: all its commands work as printed. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'

const PAGE = 'docs/migrations.md'

describe(PAGE, () => {
  let page: PlayedPage
  before(async () => {
    page = await playPage(PAGE, ['npm start'])
  }).timeout(300_000)
  after(() => page.stop())

  it('shows what its commands print, and none of them fails', () => {
    expect(page.blocks.filter(({ output }) => output.length > 0)).to.have.length.at.least(3)
    for (const { printed, output } of page.blocks) {
      expect(missingFrom(printed, output), printed).to.deep.equal([])
      expect(printed).not.to.match(/^failed /m)
    }
  })

  it('tells of every step that a file can have', async () => {
    const text = await readFile(new URL(`../../${PAGE}`, import.meta.url), 'utf8')
    const schema = JSON.parse(
      await readFile(new URL('../../src/migrations/file/schemas/migration.schema.json', import.meta.url), 'utf8'),
    )
    const told = [...text.matchAll(/^\| `(\w+): /gm)].map(([, step]) => step)
    expect(told.toSorted()).to.deep.equal(Object.keys(schema.$defs.step.properties).toSorted())
  })
})
