/** A forwarded path has no character that a program may turn into a delimiter. */
import { expect } from 'chai'
import { Problem } from '../../../src/base/problems/problem.ts'
import { readForwardedUri } from '../../../src/server/authzen/forward.ts'

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

  it('has no segment of dots and characters that a program may omit: not one of all of Unicode', () => {
    const isOmitted = (one: string) => /[\s\p{Default_Ignorable_Code_Point}]/u.test(one)
    const omitted = [...characters().filter(isOmitted), ' ']
    expect(omitted).to.include.members([...'\u00a0\u00ad\u200b\u200d\u2003\u2060\u3000\u3164\ufe0f\ufeff\u{e0001}'])
    const isGranted = (segment: string) =>
      !(readForwardedUri(`/api/orders/${encodeURIComponent(segment)}/x`) instanceof Problem)
    const segments = omitted.flatMap((one) => [`.${one}`, `${one}.`, `..${one}`, `.${one}.`, `${one}.${one}.${one}`])
    expect(segments.filter(isGranted)).to.deep.equal([])
    expect(['...', '.a', 'a..', '👩\u200d🚀', 'a b', 'x\u00ad.'].every(isGranted)).to.equal(true)
  })

  it('has no character that a code page may turn into a delimiter', () => {
    expect([...'\u00a5\u20a9\u20e5\u2215\u2216\u066a'].filter((one) => !isRefused(one))).to.deep.equal([])
  })

  it('may have letters and marks of every language, composed or not', () => {
    for (const text of ['zoë', 'zoe\u0308', '日本語', 'عربي', 'ﬁn', '１２', '한국어', '🙂', 'l’été', '≠']) {
      expect(isRefused(text), text).to.equal(false)
    }
  })
})
