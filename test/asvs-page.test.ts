/** docs/asvs.md answers each requirement, and names tests that are there. */
import { existsSync, readFileSync } from 'node:fs'
import { expect } from 'chai'

const ROOT = new URL('../', import.meta.url)

/** The requirements of the two chapters in ASVS 5.0.0, and the risks of 2023. */
const REQUIRED = [
  ...[
    '8.1.1',
    '8.1.2',
    '8.1.3',
    '8.1.4',
    '8.2.1',
    '8.2.2',
    '8.2.3',
    '8.2.4',
    '8.3.1',
    '8.3.2',
    '8.3.3',
    '8.4.1',
    '8.4.2',
  ],
  ...['16.1.1', '16.2.1', '16.2.2', '16.2.3', '16.2.4', '16.2.5', '16.3.1', '16.3.2', '16.3.3', '16.3.4'],
  ...['16.4.1', '16.4.2', '16.4.3', '16.5.1', '16.5.2', '16.5.3', '16.5.4'],
  ...Array.from({ length: 10 }, (_, at) => `API${at + 1}`),
]

interface Row {
  readonly id: string
  readonly answer: string
  readonly tests: readonly { readonly file: string; readonly title: string }[]
}

function rowsOf(page: string): readonly Row[] {
  return [...page.matchAll(/^\| (?<id>\d+\.\d+\.\d+|API\d+) [^|]+ \| (?<answer>[^|]+) \| ?(?<tests>[^|]*)\|$/gm)].map(
    ({ groups: { id = '', answer = '', tests = '' } = {} }) => ({
      id,
      answer,
      tests: tests
        .split('; `')
        .map((one) => /^`?(?<file>test\/[\w/.-]+)`: (?<title>.+?) ?$/.exec(one)?.groups)
        .map((found) => ({ file: found?.file ?? '', title: found?.title ?? '' }))
        .filter(({ file }) => file !== ''),
    }),
  )
}

/** The tests that a page names and that nobody wrote. */
function missingIn(rows: readonly Row[]): readonly string[] {
  return rows
    .flatMap(({ tests }) => tests)
    .filter(({ file, title }) => !isThere(file, title))
    .map(({ file, title }) => `${file}: ${title}`)
}

function isThere(file: string, title: string): boolean {
  const place = new URL(file, ROOT)
  return title !== '' && existsSync(place) && readFileSync(place, 'utf8').replaceAll("\\'", "'").includes(title)
}

describe('docs/asvs.md', () => {
  const page = readFileSync(new URL('docs/asvs.md', ROOT), 'utf8')
  const rows = rowsOf(page)

  it('has each requirement once, in order', () => {
    expect(rows.map(({ id }) => id)).to.deep.equal(REQUIRED)
  })

  it('answers each with one of its words, and a test unless the answer is no', () => {
    for (const { id, answer, tests } of rows) {
      expect(answer, id).to.match(/^\*\*(?:yes|in part|yours|no)\*\*/)
      if (!/^\*\*(?:no|yours)\*\*/.test(answer)) expect(tests, id).not.to.deep.equal([])
    }
  })

  it('names tests that are there', () => {
    expect(missingIn(rows)).to.deep.equal([])
    const wrong = '| 8.1.1 x | **yes** | `test/faults.test.ts`: a test that nobody wrote; `test/none.test.ts`: x |'
    expect(missingIn(rowsOf(wrong))).to.deep.equal([
      'test/faults.test.ts: a test that nobody wrote',
      'test/none.test.ts: x',
    ])
  })
})
