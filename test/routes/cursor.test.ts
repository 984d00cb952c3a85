/** Cursors: sealed so that nobody reads or changes them, each under a nonce of its own (NIST SP 800-38D section 8). */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { Problem } from '../../src/problems/problem.ts'
import { openCursor, sealCursor } from '../../src/routes/cursor.ts'

const KEY = randomBytes(32)
const NONCE_BYTES = 12

describe('a cursor', () => {
  it('opens to its place, for its query and caller alone', () => {
    const cursor = sealCursor(KEY, 'mine', 'place é')
    expect(openCursor(KEY, 'mine', cursor)).to.equal('place é')
    expect(() => openCursor(KEY, 'yours', cursor)).to.throw(Problem)
    expect(() => openCursor(randomBytes(32), 'mine', cursor)).to.throw(Problem)
  })

  it('never has the nonce of another one, however many were made', () => {
    const cursors = Array.from({ length: 2000 }, () => sealCursor(KEY, 'mine', 'place'))
    const nonces = cursors.map((one) => Buffer.from(one, 'base64url').toString('hex', 0, NONCE_BYTES))
    expect(new Set(nonces).size).to.equal(cursors.length)
    for (const one of cursors) expect(openCursor(KEY, 'mine', one)).to.equal('place')
  })
})
