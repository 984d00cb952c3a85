/** Lines without quotes are taken apart without csv-parse: they have the same cells at the same places as with it. */
import { expect } from 'chai'
import fc from 'fast-check'
import { readRuleLines } from '../../src/policy/parse/rule-lines.ts'
import { runs } from '../runs.ts'

/** Spaces of many kinds, ends of lines, comments with quotes, and what rules are made of. */
const PIECES = ['p', 'g', 'user:a', 'é', '😀', '*', '!a>b|c', "'", ',', ', ', ' ', '\t', '\f', '\u00a0', '\ufeff']
const LINES = ['\n', '\r\n', '\n\n', '#', '\n#', '\n # "a, b\n', '\r\n#"\r\n', '\u2028', '# end of policy\n']
const text = fc.array(fc.constantFrom(...PIECES, ...LINES), { maxLength: 30 }).map((pieces) => pieces.join(''))

/** A last line that csv-parse must read, so that it reads all of them. */
const QUOTED = '\n"q"'

describe('lines of policy.csv', () => {
  it('have the same cells, at the same places, whether or not another line has quotes', () => {
    fc.assert(sameAs(linesOf), { numRuns: runs(3000) })
  })

  it('would not, if spaces around cells stayed', () => {
    const untrimmed = (source: string) => linesOf(source.replaceAll(', ', ',_'))
    expect(fc.check(sameAs(untrimmed), { seed: 1, numRuns: 300 }).failed).to.equal(true)
  })

  it('keep a comma and a comment sign inside quotes', () => {
    expect(linesOf('p, "a, #b" ,c\n# "\np,d').map(({ cells }) => cells)).to.deep.equal([
      ['p', 'a, #b', 'c'],
      ['p', 'd'],
    ])
  })
})

function sameAs(lines: typeof linesOf) {
  return fc.property(text, (source) => {
    expect(lines(source)).to.deep.equal(linesOf(source + QUOTED).slice(0, -1))
  })
}

function linesOf(source: string) {
  const lines = readRuleLines({ name: 'policy.csv', text: source }, () => undefined)
  return lines.map(({ line, cells, placeOf }) => ({ line, cells, places: cells.map((_, i) => placeOf(i)) })).toArray()
}
