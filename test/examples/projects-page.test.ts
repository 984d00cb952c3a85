/** The README of examples/projects: its commands work as printed, and print what it shows. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { type PlayedPage, playPage } from '../page.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const POLICIES = join(ROOT, 'examples/projects/policies')

describe('examples/projects/README.md', () => {
  let page: PlayedPage
  before(async () => {
    const ready = 'The example of projects listens'
    page = await playPage('examples/projects/README.md', ['npm run example:projects'], { ready })
  })
  after(() => page.stop())

  it('has commands that all work, and print what it shows', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length(7)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
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

  it('shows a policy in which the check finds nothing, and something in a broken copy', async () => {
    const sound = await check(POLICIES)
    expect(sound.code).to.equal(0)
    expect(sound.printed).to.match(/^4 guarantees proven, in \d+ cells\n\nnothing found \(1 suppressed\)\n$/)
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-check-'))
    await cp(POLICIES, folder, { recursive: true })
    const rules = await readFile(join(folder, 'policy.csv'), 'utf8')
    await writeFile(
      join(folder, 'policy.csv'),
      rules.replace('memberships, create,    lead,', 'memberships, create,    any,'),
    )
    const { code, printed } = await check(folder)
    await removeFolder(folder)
    expect(code).to.equal(1)
    expect(printed).to.contain('[self-grant]')
  })
})

/** Fails for warnings too. */
function check(policies: string): Promise<{ readonly code: number; readonly printed: string }> {
  const words = ['policy', 'check', policies, '--schemas', 'examples/projects/schemas', '--fail-on', 'warning']
  return new Promise((resolve) => {
    execFile(process.execPath, ['bin/sallyport.js', ...words], { cwd: ROOT }, (error, printed) =>
      resolve({ code: error ? Number(error.code) : 0, printed }),
    )
  })
}
