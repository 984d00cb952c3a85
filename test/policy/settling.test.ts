/** A change is due when it has settled, or when it never does for too long. */
import { expect } from 'chai'
import { SettlingValue } from '../../src/policy/live/watch-policy.ts'

describe('what is looked at again and again', () => {
  const settling = () => new SettlingValue({ quietMs: 300, longestMs: 600 })

  it('is due when it has not changed for a while, and once only', () => {
    const one = settling()
    one.see('a', 0)
    expect(one.isDue(299)).to.equal(false)
    expect(one.isDue(300)).to.equal(true)
    one.take()
    expect(one.isDue(10_000)).to.equal(false)
  })

  it('is due after the longest wait, however often it changes', () => {
    const one = settling()
    for (let at = 0; at < 600; at += 100) {
      one.see(String(at), at)
      expect(one.isDue(at), String(at)).to.equal(false)
    }
    one.see('600', 600)
    expect(one.isDue(600)).to.equal(true)
    one.take()
    one.see('700', 700)
    expect(one.isDue(900)).to.equal(false)
    expect(one.isDue(1000)).to.equal(true)
  })

  it('that could not be taken is due again after the same while, also when it is as it was before', () => {
    const one = settling()
    one.see('a', 0)
    one.take()
    one.see('b', 1000)
    one.putOff(1300)
    one.see('a', 1400)
    expect(one.isDue(1600)).to.equal(false)
    expect(one.isDue(1700)).to.equal(true)
    one.take()
    expect(one.isDue(10_000)).to.equal(false)
  })

  it('is not due when it is again what was taken', () => {
    const one = settling()
    one.see('a', 0)
    one.take()
    one.see('b', 1000)
    one.see('a', 1100)
    expect(one.isDue(5000)).to.equal(false)
  })
})
