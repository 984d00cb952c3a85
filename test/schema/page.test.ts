/** docs/changing-schemas.md, run as printed. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'

describe('docs/changing-schemas.md', () => {
  let page: PlayedPage

  before(async () => {
    page = await playPage('docs/changing-schemas.md', ['npm start'])
  })
  after(() => page?.stop())

  it('shows what its commands print', () => {
    expect(page.blocks.filter(({ output }) => output.length > 0)).to.have.length.at.least(6)
    for (const { commands, output, printed } of page.blocks) {
      expect(missingFrom(printed, output), `${commands.join('\n')}\n${printed}`).to.deep.equal([])
      expect(printed).not.to.match(/^failed/m)
    }
  })

  it('a line that was not printed would be found', () => {
    const [first] = page.blocks
    expect(missingFrom(first?.printed ?? '', ['nothing was found'])).to.deep.equal(['nothing was found'])
  })

  it('tells of every step that a file can have', async () => {
    const text = await readFile(new URL('../../docs/changing-schemas.md', import.meta.url), 'utf8')
    const schema = JSON.parse(
      await readFile(new URL('../../src/migrations/file/schemas/migration.schema.json', import.meta.url), 'utf8'),
    )
    const told = [...text.matchAll(/^\| `(\w+): /gm)].map(([, step]) => step)
    expect(told.toSorted()).to.deep.equal(Object.keys(schema.$defs.step.properties).toSorted())
  })
})
