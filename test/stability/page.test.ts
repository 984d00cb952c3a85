/** docs/stability.md says what the code does: its steps, its parts, and the command that it names. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import own from '../../package.json' with { type: 'json' }
import { readAccepted } from '../../scripts/surface.ts'
import { parseVersion, stepBetween } from '../../src/tools/project/upgrade/versions.ts'

/** The row of the page for each kind of member, by the first word of its name. */
const ROWS: Readonly<Record<string, string>> = {
  command: '**commands**',
  setting: '**settings**',
  problem: '**problems**',
  finding: '**findings**',
  reason: '**HTTP**',
  layout: '**the store**',
  file: '**files**',
  json: '**JSON output**',
  http: '**HTTP**',
  package: '**packages**',
}

describe('docs/stability.md', () => {
  let page: string

  before(async () => {
    page = await readFile(new URL('../../docs/stability.md', import.meta.url), 'utf8')
  })

  it('has a row for each kind of member of the surface', async () => {
    const { members } = await readAccepted()
    const kinds = new Set(Object.keys(members).map((name) => name.split(' ')[0] ?? ''))
    expect([...kinds].toSorted()).to.deep.equal(Object.keys(ROWS).toSorted())
    expect(Object.values(ROWS).filter((row) => !page.includes(`| ${row}`))).to.deep.equal([])
  })

  it('calls steps as `upgrade --check` does', () => {
    const told = [...page.matchAll(/^\| (\w+), (\S+) to (\S+) \|/gm)]
    expect(told).to.have.length(3)
    for (const [, step, old = '', young = ''] of told) expect(stepOf(old, young), `${old} to ${young}`).to.equal(step)
    expect(stepOf('0.1.0', '0.2.0')).to.equal('major')
    expect(page).to.include('a major change raises the middle number (0.1.0 to 0.2.0)')
  })

  it('names a command that there is', () => {
    for (const [, name = ''] of page.matchAll(/`npm run ([\w:]+)`/g)) expect(own.scripts).to.have.property(name)
    expect(page).to.include('`npm run surface`')
  })
})

function stepOf(old: string, young: string): string | undefined {
  const [before, after] = [parseVersion(old), parseVersion(young)]
  return before && after && stepBetween(before, after)
}
