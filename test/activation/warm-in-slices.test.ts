/** Cells are made before a policy takes over, between requests, and a policy never waits long for them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { warmInSlices } from '../../src/server/policy-changes/warm-in-slices.ts'

describe('the cells of a policy that takes over', () => {
  it('are made before it does, with turns of the event loop in between', async () => {
    let made = 0
    let turns = 0
    const counting = setInterval(() => {
      turns += 1
    }, 1)
    async function* steps() {
      for (; made < 30; made++) yield busy(1)
    }
    await warmInSlices(steps(), 60_000)
    clearInterval(counting)
    expect(made).to.equal(30)
    expect(turns).to.be.greaterThan(3)
  })

  it('let it take over when they take long, and are made to the end meanwhile', async () => {
    const enough = Promise.withResolvers<void>()
    let made = 0
    async function* steps() {
      await enough.promise
      for (; made < 5; made++) yield
    }
    await warmInSlices(steps(), 1)
    expect(made).to.equal(0)
    enough.resolve()
    while (made < 5) await sleep(1)
  })

  it('tell a fault while they are waited for, and keep one that comes later to themselves', async () => {
    async function* failing(after: Promise<unknown>) {
      await after
      yield
      throw new Error('broken')
    }
    expect(await warmInSlices(failing(Promise.resolve()), 60_000).catch(({ message }) => message)).to.equal('broken')
    await warmInSlices(failing(sleep(20)), 1)
    await sleep(40)
  })
})

function busy(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}
