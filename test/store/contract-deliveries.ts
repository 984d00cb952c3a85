/** The contract: how far webhooks are, and their dead letters, are there for whoever delivers next. */
import { expect } from 'chai'
import { type DeadLetter, MOST_DEAD_LETTERS } from '../../src/store/deliveries.ts'
import type { Open, TestEngine } from './engine.ts'

export function describeDeliveries(open: Open, { keeps }: TestEngine): void {
  it('keeps the state of each subscription, and what commands ask for', async () => {
    const { deliveries } = await open()
    await deliveries.keep('erp', { after: '7.seal' })
    await deliveries.keep('erp', { after: '8.seal', attempts: 2, why: 'it answers 500 \u0000' })
    await deliveries.keep('erp-2', {})
    await deliveries.order('erp', 'retry')
    await deliveries.order('erp', 'skip')
    await deliveries.ordered('erp', 'retry')
    const { states, orders } = await deliveries.kept()
    expect(Object.fromEntries(states)).to.deep.equal({
      erp: { after: '8.seal', attempts: 2, why: 'it answers 500 \u0000' },
      'erp-2': {},
    })
    expect(Object.fromEntries(orders)).to.deep.equal({ erp: ['skip'] })
  })

  it('keeps the dead letters of each subscription apart, in the order of the events, as many as a bound allows', async () => {
    const { deliveries } = await open()
    for (const number of [10, 9, 11]) await deliveries.bury('erp', letter(number))
    await deliveries.bury('erp-2', letter(1))
    await deliveries.bury('erp', { ...letter(9), isDue: true })
    await deliveries.unbury('erp', 'n.10')
    expect(await deliveries.letters('erp')).to.deep.equal([{ ...letter(9), isDue: true }, letter(11)])
    expect(await deliveries.letters('erp-2')).to.deep.equal([letter(1)])
    // The same statements on each engine, and a thousand writes take a while on some.
    if (keeps === 'shared') return
    for (let number = 100; number <= 100 + MOST_DEAD_LETTERS; number++) await deliveries.bury('erp', letter(number))
    expect((await deliveries.letters('erp')).length).to.equal(MOST_DEAD_LETTERS)
  })

  it('lets one holder deliver', async () => {
    const { deliveries } = await open()
    expect(await deliveries.hold('one')).to.equal(true)
    expect(await deliveries.hold('two')).to.equal(false)
    await deliveries.release('one')
    expect(await deliveries.hold('two')).to.equal(true)
  })
}

function letter(number: number): DeadLetter {
  return {
    id: `n.${number}`,
    event: `${number}.seal`,
    type: 'parcels.gone',
    at: '2026-01-01T00:00:00.000Z',
    why: 'none',
  }
}
