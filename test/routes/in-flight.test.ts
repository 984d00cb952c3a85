/** Of requests with one idempotency key at a time, one is at work. */
import { expect } from 'chai'
import { Problem } from '../../src/base/problems/problem.ts'
import { InFlight } from '../../src/server/idempotency/idempotency-key.ts'
import { failure } from '../store/fixture.ts'

describe('a claim in flight', () => {
  it('lets nobody else work under its name until it ends, however that is', async () => {
    const inFlight = new InFlight()
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const first = inFlight.only('a', () => promise)
    const second = await failure(inFlight.only('a', async () => 'second'))
    expect(second).to.be.instanceOf(Problem).and.include({ code: 'idempotency-in-flight', status: 409 })
    expect((second as Problem).headers).to.deep.equal({ 'Retry-After': '1' })
    expect(await inFlight.only('b', async () => 'other')).to.equal('other')
    resolve('first')
    expect(await first).to.equal('first')
    expect(await inFlight.only('a', async () => 'third')).to.equal('third')
    await failure(inFlight.only('a', () => Promise.reject(new Error('failed'))))
    expect(await inFlight.only('a', async () => 'fourth')).to.equal('fourth')
    reject(new Error('never seen'))
  })
})
