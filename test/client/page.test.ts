/** docs/clients.md: its commands work as printed, print what it shows, and its tables are complete. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

describe('docs/clients.md, on the client package,', () => {
  let page: PlayedPage
  before(async () => {
    page = await playPage('docs/clients.md', ['npm start', 'node shop.mjs'], { ports: ['3002'], startsAll: true })
  })
  after(() => page.stop())

  it('has commands that all work, and print what it shows', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length(3)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
    expect(page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])).to.deep.equal([])
  })

  it('has each code of an error and each option, and no other', () => {
    const text = read('docs/clients.md')
    const rows = (heading: string) => {
      const table = text.split(`\n${heading}\n`)[1]?.split('\n\n')[0] ?? ''
      return [...table.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name)
    }
    const codes = [...read('packages/client/src/error.ts').matchAll(/^ {2}\| '([a-z-]+)'/gm)].map(([, code]) => code)
    expect(codes).to.have.length.greaterThan(8)
    expect(rows('| code | means |')).to.have.members(codes)
    const [, options = ''] =
      /^export interface ClientOptions \{(.*?)^\}/ms.exec(read('packages/client/src/options.ts')) ?? []
    const names = [...options.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name]) => name)
    expect(names).to.have.length.greaterThan(9)
    expect(rows('| option | default | means |')).to.have.members(names)
  })
})
