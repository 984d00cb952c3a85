/** A forwarded path has no character that a program may turn into a delimiter. */
import { expect } from 'chai'
import { Problem } from '../../../src/base/problems/problem.ts'
import { readForwardedUri } from '../../../src/server/access/forward.ts'

const isRefused = (character: string) =>
  readForwardedUri(`/api/orders/x${encodeURIComponent(character)}y`) instanceof Problem

/** Every character but ASCII and surrogates. */
function* characters(): Generator<string> {
  for (let code = 0x80; code <= 0x10_ffff; code++) {
    if (code < 0xd800 || code > 0xdfff) yield String.fromCodePoint(code)
  }
}

describe('a forwarded path', () => {
  it('has no character that NFKC turns into a delimiter: not one of all of Unicode', () => {
    const turning = [...characters().filter((one) => /[./\\;?#%]/.test(one.normalize('NFKC')))]
    expect(turning).to.include.members([...'․‥…︰℀℁℅℆︔﹒﹔﹖﹟﹪﹨．／；？＃％＼⒈\u037e'])
    expect(turning.filter((one) => !isRefused(one))).to.deep.equal([])
  })

  it('may have letters and marks of every language, composed or not', () => {
    for (const text of ['zoë', 'zoe\u0308', '日本語', 'عربي', 'ﬁn', '１２', '한국어', '🙂', 'l’été', '≠']) {
      expect(isRefused(text), text).to.equal(false)
    }
  })
})
