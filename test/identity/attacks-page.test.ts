/** The table of attacks in SECURITY.md names tests that are there. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'

const FOLDER = new URL('.', import.meta.url)
const SOURCES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => readFileSync(new URL(name, FOLDER), 'utf8'))
  .join('')
  .replaceAll('\\`', '`')

describe('the table of attacks', () => {
  const page = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8')
  const [, section = ''] = /### Attacks on tokens\n(.*?)\n### /s.exec(page) ?? []
  const rows = [...section.matchAll(/^\| .+ \| (?<tests>.+) \|$/gm)].slice(1)

  it('has the whole list', () => {
    expect(rows).to.have.length.at.least(22)
  })

  it('names tests that are there', () => {
    const named = rows.flatMap(({ groups }) => testsIn(groups?.tests ?? ''))
    expect(named.filter((title) => !SOURCES.includes(title))).to.deep.equal([])
    expect(SOURCES).to.not.include(`a test that nobody ${'wrote'}`)
  })
})

/** Code spans of Markdown; a title that has a backtick stands between two. */
function testsIn(cell: string): readonly string[] {
  return [...cell.matchAll(/``(.+?)``|`([^`]+)`/g)].map(([, double, single]) =>
    (double ?? single ?? '').replace('test/identity/', ''),
  )
}
