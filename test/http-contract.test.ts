/** test/http-contract.md: every promise of the HTTP contract has the test that it names. */
import { existsSync, readFileSync } from 'node:fs'
import { expect } from 'chai'

interface Row {
  readonly promise: string
  readonly file: string
  readonly title: string
}

/** Rows of the page's tables; one without a promise belongs to the promise above it. */
function rowsOf(page: string): readonly Row[] {
  const rows = [...page.matchAll(/^\| (.*?) ?\| (\S+\.test\.ts) \| (.+) \|$/gm)]
  return rows.map(([, promise = '', file = '', title = '']) => ({ promise, file, title }))
}

/** Rows whose test isn't in its file, as the title of a test or the name of one of its cases. */
function unheld(rows: readonly Row[]): readonly string[] {
  return rows.filter((row) => !isHeld(row)).map(({ file, title }) => `${file}: ${title}`)
}

function isHeld({ file, title }: Row): boolean {
  const url = new URL(file, import.meta.url)
  if (!existsSync(url)) return false
  const text = readFileSync(url, 'utf8').replaceAll("\\'", "'")
  return ["'", '"', '`'].some((quote) => text.includes(quote + title + quote))
}

describe('the HTTP contract', () => {
  const page = readFileSync(new URL('http-contract.md', import.meta.url), 'utf8')

  it('has a test for every promise', () => {
    const rows = rowsOf(page)
    const lines = page.split('\n').filter((line) => /^\|(?! promise |---)/.test(line))
    expect(rows).to.have.length(lines.length)
    expect(rows.length).to.be.greaterThan(100)
    expect(unheld(rows)).to.deep.equal([])
  })

  it('a promise whose test is missing would be found', () => {
    expect(unheld(rowsOf('| x | http-contract.test.ts | nobody has written this |'))).to.have.length(1)
    expect(unheld(rowsOf('| x | nowhere.test.ts | has a test for every promise |'))).to.have.length(1)
    expect(unheld(rowsOf('| x | http-contract.test.ts | has a test for every promise |'))).to.have.length(0)
  })
})
