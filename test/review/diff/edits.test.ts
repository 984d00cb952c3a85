/** What a diff says about edits of the shipped policy, word for word. The table is edits.ts. */
import { expect } from 'chai'
import { equivalence } from '../../../src/analysis/diff/compare-policies.ts'
import { DIFF_FORMATS } from '../../../src/tools/diff/formats.ts'
import { CASES } from './edits.ts'
import { applyEdits, reportOnEdits } from './shipped.ts'

const { text: diffText } = DIFF_FORMATS

/** The changes, whose sign is their direction; a long one goes on in further lines. */
function saidAbout(text: string): readonly string[] {
  return text
    .replaceAll(/\n {6}/g, ' ')
    .split('\n')
    .filter((line) => /^ {2}[+?=-] /.test(line))
    .map((line) => line.trim())
}

describe('a policy diff says', () => {
  for (const [name, { edits, first, says }] of Object.entries(CASES)) {
    it(name, () => {
      expect(saidAbout(diffText(reportOnEdits(edits, first)))).to.deep.equal(says)
    })
  }

  it('what an edit back says, with the effect turned round', () => {
    const { edits } = CASES['a whole action is gained'] ?? { edits: {} }
    const back = saidAbout(diffText(reportOnEdits({}, edits)))
    expect(back).to.deep.equal(['- support loses delete on orders (any, keeps owner+draft)'])
  })

  it('that two policies are equivalent, and whether their text is the same', () => {
    expect(equivalence(reportOnEdits({}))).to.match(/equivalent: their files are the same/)
    const { edits } = CASES['text alone'] ?? { edits: {} }
    expect(equivalence(reportOnEdits(edits))).to.match(/equivalent: only text, comments or approvals\.yaml differ/)
    expect(equivalence(reportOnEdits({ 'blocked.txt': [['', 'user:x']] }))).to.equal(undefined)
  })

  it('nothing about an edit that does not fit: the table would be stale', () => {
    expect(() => applyEdits('a b', [['c', 'd']])).to.throw('exactly one c')
  })
})
