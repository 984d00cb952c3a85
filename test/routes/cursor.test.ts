/** Cursors: sealed so that nobody reads or changes them, each under a nonce of its own (NIST SP 800-38D section 8). */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { Problem } from '../../src/base/problems/problem.ts'
import { Cursors } from '../../src/server/routes/cursor.ts'

const KEY = randomBytes(32)
const NONCE_BYTES = 12

describe('a cursor', () => {
  it('opens to its place, for its query and caller alone', () => {
    const cursors = new Cursors(KEY)
    const cursor = cursors.seal('mine', 'place é')
    expect(cursors.open('mine', cursor)).to.equal('place é')
    expect(new Cursors(KEY).open('mine', cursor)).to.equal('place é')
    expect(() => cursors.open('yours', cursor)).to.throw(Problem)
    expect(() => new Cursors(randomBytes(32)).open('mine', cursor)).to.throw(Problem)
  })

  it('has a nonce that no other one has, however many were made', () => {
    const cursors = new Cursors(KEY)
    const made = Array.from({ length: 2000 }, (_, i) => cursors.seal('mine', `place ${i}`))
    const nonces = made.map((one) => Buffer.from(one, 'base64url').toString('hex', 0, NONCE_BYTES))
    expect(new Set(nonces).size).to.equal(made.length)
    for (const [i, one] of made.entries()) expect(cursors.open('mine', one)).to.equal(`place ${i}`)
  })

  it('is the same for who asks for the page again, and nobody else', () => {
    const cursors = new Cursors(KEY)
    const cursor = cursors.seal('mine', 'place')
    expect(cursors.seal('mine', 'place')).to.equal(cursor)
    for (const [binding, place] of [
      ['mine', 'place 2'],
      ['mine"', 'place'],
      ['mine","place', ''],
      ['', 'mine","place'],
    ] as const) {
      const other = cursors.seal(binding, place)
      expect(other).not.to.equal(cursor)
      expect(cursors.open(binding, other)).to.equal(place)
    }
  })
})
