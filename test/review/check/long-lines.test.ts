/** A file with a very long line is checked at once, whoever wrote it. */
import { expect } from 'chai'
import { trailingSpaces } from '../../../src/tools/check/rules/files.ts'

/** Only a fault takes this long. */
const SOON_MS = 10_000

describe('a line of half a million spaces', () => {
  const spaces = ' '.repeat(500_000)

  it('is looked at once, wherever the spaces are', () => {
    const begin = performance.now()
    expect(trailingSpaces({ name: 'views.yaml', text: `a: "${spaces}b"\n` })).to.deep.equal([])
    expect(trailingSpaces({ name: 'views.yaml', text: `a: b${spaces}\n` }).map(({ at }) => at)).to.deep.equal([
      { file: 'views.yaml', line: 1, column: 5 },
    ])
    expect(performance.now() - begin).to.be.lessThan(SOON_MS)
  })

  it('a pattern that begins anew at each space would be found', () => {
    const begin = performance.now()
    trailingSpaces({ name: 'views.yaml', text: `a: "${spaces.slice(0, 10_000)}b"\n` }, /[ \t]+$/)
    const quadratic = performance.now() - begin
    // Fifty times as many take 2500 times as long.
    expect(quadratic * 2500).to.be.greaterThan(SOON_MS)
  })
})
