/** docs/first-steps.md, run as printed; and README.md, whose tours are parts of it. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { blocksOf, missingFrom } from './documented.ts'
import { type PlayedPage, playPage } from './page.ts'
import { program } from './programs.ts'

const PAGE = 'docs/first-steps.md'

describe(PAGE, () => {
  let page: PlayedPage
  before(async () => {
    program('curl')
    page = await playPage(PAGE, ['npm start'])
  })
  after(() => page.stop())

  it('shows what its commands print', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length.at.least(9)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
    expect(missingFrom(shown[0]?.printed ?? '', ['what nobody printed'])).to.deep.equal(['what nobody printed'])
  })

  it('has no command that fails', () => {
    const failed = page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])
    expect(failed).to.deep.equal([])
  })
})

describe('README.md', () => {
  const readme = readFileSync('README.md', 'utf8')

  it('has tours whose commands are run with docs/first-steps.md', () => {
    const commandsOf = (text: string) => blocksOf(text).flatMap(({ commands }) => commands)
    const run = new Set(commandsOf(readFileSync(PAGE, 'utf8')))
    expect(commandsOf(readme)).to.have.length.at.least(12)
    expect(commandsOf(readme).filter((command) => !run.has(command))).to.deep.equal([])
    expect(run.has('what nobody runs')).to.equal(false)
  })

  it('shows on its first screen a rule of the shipped policy, and why a request is refused', () => {
    const [, rule = '', command = '', output = ''] =
      /^```\n(p, .*)\n```\n[^`]*```\n\$ npm run -s sallyport -- (.*)\n([^`]*)```$/m.exec(readme) ?? []
    expect(readFileSync('policies/policy.csv', 'utf8').replaceAll(/ +/g, ' ')).to.include(rule)
    const printed = execFileSync(process.execPath, ['bin/sallyport.js', ...command.split(' ')], { encoding: 'utf8' })
    expect(output.split('…\n')).to.have.length(2)
    for (const part of output.split('…\n')) expect(printed).to.include(part)
    expect(printed).to.include(rule)
  })

  it('is short', () => {
    expect(readme.split('\n')).to.have.length.at.most(121)
  })
})
