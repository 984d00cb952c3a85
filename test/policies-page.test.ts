/** docs/policies.md: all its commands work as printed. */
import { expect } from 'chai'
import { type PlayedPage, playPage } from './page.ts'

describe('docs/policies.md', () => {
  let page: PlayedPage

  before(async () => {
    page = await playPage('docs/policies.md', [])
  }).timeout(300_000)
  after(() => page.stop())

  it('has commands that all work, in thirteen tasks', () => {
    expect(page.blocks.length).to.be.at.least(20)
    const failed = page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])
    expect(failed).to.deep.equal([])
  })

  it('ends each of the tasks about projects with a check, a diff, a matrix, tests as expected, and an apply', () => {
    const proofs = page.blocks.filter(({ commands }) => commands.some((line) => line.includes('policy apply exercise')))
    expect(proofs).to.have.length(7)
    for (const { commands, printed } of proofs) {
      for (const command of ['policy check', 'policy diff', 'policy matrix', 'matrix test'])
        expect(commands.join('\n')).to.contain(`-- ${command} `)
      expect(printed).to.match(/All \d+ cells are as expected/)
      expect(printed).to.match(/Version \d+, revision \w+, is in force in exercise\/policies/)
    }
  })

  it('says in the text what the commands print', () => {
    const printed = page.blocks.map((block) => block.printed).join('\n')
    for (const line of [
      /\+ member gains list and read on comments and tasks \(team\)/,
      /- member loses list and read on comments and tasks \(team, keeps tenant\+team\)/,
      /PATCH +writer\+team\+open>open\+mine\+assigned +claim/,
      /PATCH +writer\+team\+open>open\+assigned +content/,
      /if the object were done \(status is done\)/,
      /max_age="?600/,
      /nothing found \(1 suppressed\)/,
    ])
      expect(printed).to.match(line)
  })
})
