/** The in-process limiter against the contract, and against an oracle that remembers the time of every admission. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Quota } from '../../src/limits/limiter.ts'
import { createMemoryLimiter } from '../../src/limits/memory.ts'
import { stepMicros } from '../../src/limits/sliding-window.ts'
import { fullestWindow } from './any-window.ts'
import { keepsTheContract, quotaFor } from './contract.ts'
import { milliseconds } from './microseconds.ts'

describe('the in-process limiter', () => {
  const limiter = createMemoryLimiter()
  keepsTheContract(() => limiter)
})

describe('a window in memory', () => {
  it('never admits more than allow, wherever it begins', async () => {
    await fc.assert(
      fc.asyncProperty(quotas, gaps, async (quota, waits) => {
        const { admissions } = await play(quota, waits)
        expect(fullestWindow(admissions, quota.windowMs * 1000)).to.be.at.most(quota.allow)
      }),
    )
  })

  it('refuses at most one sub-window early', async () => {
    await fc.assert(
      fc.asyncProperty(quotas, gaps, async (quota, waits) => {
        const { admissions, refusals } = await play(quota, waits)
        const longest = quota.windowMs * 1000 + stepMicros(quota)
        for (const time of refusals) {
          const counted = admissions.filter((at) => at <= time && at > time - longest)
          expect(counted.length).to.be.at.least(quota.allow)
        }
      }),
    )
  })

  it('says to the millisecond when the next is admitted', async () => {
    await fc.assert(
      fc.asyncProperty(quotas, gaps, async (quota, waits) => {
        const { limiter, clock } = await play(quota, waits)
        const { admitted, retryAfterMs } = await limiter.admit([quota])
        if (admitted) return
        clock.micros += (retryAfterMs - 1) * 1000
        expect((await limiter.admit([quota])).admitted).to.equal(false)
        clock.micros += 1000
        expect((await limiter.admit([quota])).admitted).to.equal(true)
      }),
    )
  })

  it('never admits more than allow while its clock steps back', async () => {
    await fc.assert(
      fc.asyncProperty(quotas, gaps, fc.array(fc.nat(400_000)), async (quota, waits, steps) => {
        const { admissions } = await play(quota, waits, steps)
        expect(fullestWindow(admissions, quota.windowMs * 1000)).to.be.at.most(quota.allow)
      }),
    )
  })

  it('admits again within a window and two sub-windows of a step back', async () => {
    await fc.assert(
      fc.asyncProperty(quotas, gaps, fc.nat(10_000_000_000), async (quota, waits, step) => {
        const { limiter, clock } = await play(quota, waits)
        clock.micros = Math.max(0, clock.micros - step)
        await limiter.admit([quota])
        clock.micros += quota.windowMs * 1000 + 2 * stepMicros(quota)
        expect((await limiter.admit([quota])).admitted).to.equal(true)
      }),
    )
  })
})

describe('the memory of the in-process limiter', () => {
  it('is bounded by the keys that count', async () => {
    const clock = { ms: 0 }
    const limiter = createMemoryLimiter({ now: () => clock.ms })
    const live = 1000
    let most = 0
    for (let key = 0; key < 50 * live; key++) {
      clock.ms += 1.05
      await limiter.admit([quotaFor({ key: `${key}`, windowMs: 1000 })])
      most = Math.max(most, limiter.keys())
    }
    expect(most).to.be.within(live, 2.5 * live)
  })

  it('is not had by dropping what counts', async () => {
    const clock = { ms: 49.9 }
    const limiter = createMemoryLimiter({ now: () => clock.ms })
    const quota = quotaFor({ windowMs: 1000 })
    await limiter.admit([quota])
    clock.ms += 1000
    for (let other = 0; other < 5; other++) await limiter.admit([quotaFor({ windowMs: 1000 })])
    expect((await limiter.admit([quota])).admitted).to.equal(false)
  })

  it('is bounded also while more keys count', async () => {
    const limiter = createMemoryLimiter({ mostKeys: 1000 })
    const early = quotaFor({ key: 'early', allow: 2 })
    await limiter.admit([early])
    for (let key = 0; key < 20_000; key++) await limiter.admit([quotaFor({ name: 'limit', key: `${key}` })])
    expect(limiter.keys()).to.be.within(1000, 1000 + 4096)
    // A key that is known keeps its own count; a new one is refused, as others have used its shared window.
    expect([early, early].map((quota) => limiter.admit([quota]).admitted)).to.deep.equal([true, false])
    expect(limiter.admit([quotaFor({ name: 'limit', key: 'late' })]).admitted).to.equal(false)
    // The negative control: without the bound, each has a window.
    const unbounded = createMemoryLimiter({ mostKeys: 100_000 })
    for (let key = 0; key < 20_000; key++) await unbounded.admit([quotaFor({ name: 'limit', key: `${key}` })])
    expect(unbounded.keys()).to.equal(20_000)
  })

  it('admits no key more often while keys share windows, and when they no longer do', async () => {
    const clock = { ms: 0 }
    const limiter = createMemoryLimiter({ now: () => clock.ms, mostKeys: 10 })
    const quota = quotaFor({ name: 'limit', key: 'one', allow: 3, windowMs: 1000 })
    for (let key = 0; key < 10; key++) await limiter.admit([quotaFor({ key: `${key}`, windowMs: 100 })])
    expect([1, 2, 3, 4].map(() => limiter.admit([quota]).admitted)).to.deep.equal([true, true, true, false])
    clock.ms = 500
    for (let ask = 0; ask < 20; ask++) await limiter.admit([quotaFor({ key: `${ask % 2}`, windowMs: 100 })])
    expect(limiter.keys()).to.be.below(10)
    expect(limiter.admit([quota]).admitted).to.equal(false)
    clock.ms = 2000
    expect(limiter.admit([quota]).admitted).to.equal(true)
  })

  it('holds no key of a request that was refused', async () => {
    const limiter = createMemoryLimiter()
    const full = quotaFor({ key: 'full' })
    await limiter.admit([full])
    for (let key = 0; key < 100; key++) await limiter.admit([full, quotaFor({ key: `other ${key}` })])
    expect(limiter.keys()).to.equal(1)
  })
})

describe('the any-window scan', () => {
  it('finds the burst over the edge that a fixed window lets through', () => {
    const bursts = [990, 995, 999, 1000, 1004, 1008]
    const admittedByFixedWindow = bursts.filter((at) => bursts.filter((other) => sameSecond(other, at)).indexOf(at) < 3)
    expect(fullestWindow(admittedByFixedWindow, 1000)).to.equal(6)
  })

  it('counts both ends of a window', () => {
    expect(fullestWindow([0, 1000], 1000)).to.equal(2)
    expect(fullestWindow([0, 1000.001], 1000)).to.equal(1)
  })
})

function sameSecond(a: number, b: number): boolean {
  return Math.floor(a / 1000) === Math.floor(b / 1000)
}

const quotas = fc
  .record({ allow: fc.integer({ min: 1, max: 6 }), windowMs: fc.integer({ min: 1, max: 200 }) })
  .map(quotaFor)

/** Microseconds between requests: bursts, waits of about a sub-window, and of about a window. */
const gaps = fc.array(fc.oneof(fc.constant(0), fc.nat(3_000), fc.nat(250_000)), { minLength: 1, maxLength: 60 })

/** One request after each wait; the clock may step back before each. Times are those that really passed. */
async function play(quota: Quota, waits: readonly number[], stepsBack: readonly number[] = []) {
  const clock = { micros: 1_000_000_000 }
  const limiter = createMemoryLimiter({ now: () => milliseconds(clock.micros) })
  const admissions: number[] = []
  const refusals: number[] = []
  let time = 0
  for (const [at, wait] of waits.entries()) {
    time += wait
    clock.micros += wait - (stepsBack[at] ?? 0)
    const { admitted } = await limiter.admit([quota])
    if (admitted) admissions.push(time)
    else refusals.push(time)
  }
  return { limiter, clock, admissions, refusals }
}
