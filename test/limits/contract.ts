/** What every limiter keeps, whatever holds its counts. In real time: windows that must not end during a test are long. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Admission, Quota } from '../../src/limits/limiter.ts'
import { SUB_WINDOWS } from '../../src/limits/sliding-window.ts'

export interface Admitter {
  admit(quotas: readonly Quota[]): Admission | Promise<Admission>
}

const LONG_MS = 60_000

/** Declares the contract's tests; `limiter` is asked for within each. */
export function keepsTheContract(limiter: () => Admitter): void {
  const admit = (...quotas: Quota[]) => limiter().admit(quotas)

  it('admits what a quota allows, and no more, however many ask at once', async () => {
    const quota = quotaFor({ allow: 7 })
    const answers = await Promise.all(Array.from({ length: 40 }, () => admit(quota)))
    expect(answers.filter(({ admitted }) => admitted)).to.have.length(7)
  })

  it('counts remaining down to nothing', async () => {
    const quota = quotaFor({ allow: 3 })
    const remaining = []
    for (let ask = 0; ask < 5; ask++) remaining.push((await admit(quota)).quotas[0]?.remaining)
    expect(remaining).to.deep.equal([2, 1, 0, 0, 0])
  })

  it('tells when more is admitted: after the window, and within one sub-window of that', async () => {
    const quota = quotaFor({ allow: 1 })
    const { quotas, retryAfterMs } = await admit(quota)
    expect(quotas[0]?.resetMs).to.be.within(LONG_MS, LONG_MS + LONG_MS / SUB_WINDOWS + 1)
    expect(retryAfterMs).to.equal(0)
    const refused = await admit(quota)
    expect(refused.retryAfterMs).to.be.greaterThan(0)
    expect(refused.retryAfterMs).to.equal(refused.quotas[0]?.resetMs)
  })

  it('admits again after retryAfterMs', async () => {
    const quota = quotaFor({ allow: 2, windowMs: 100 })
    for (let round = 0; round < 3; round++) {
      const { retryAfterMs } = await askUntilRefused(limiter(), quota)
      await sleep(retryAfterMs + 1)
      expect((await admit(quota)).admitted).to.equal(true)
    }
  })

  it('counts against no quota when one of them refuses', async () => {
    const narrow = quotaFor({ name: 'narrow', allow: 1 })
    const wide = quotaFor({ name: 'wide', allow: 5 })
    await admit(wide, narrow)
    for (let ask = 0; ask < 3; ask++) await admit(wide, narrow)
    expect((await admit(wide)).quotas[0]?.remaining).to.equal(3)
  })

  it('answers for each quota, in the order asked, and marks those that refuse', async () => {
    const full = quotaFor({ name: 'full', allow: 1 })
    const roomy = quotaFor({ name: 'roomy', allow: 9 })
    await admit(full)
    const { admitted, quotas, retryAfterMs } = await admit(roomy, full)
    expect(admitted).to.equal(false)
    expect(quotas.map(({ name, exceeded, remaining }) => ({ name, exceeded, remaining }))).to.deep.equal([
      { name: 'roomy', exceeded: false, remaining: 9 },
      { name: 'full', exceeded: true, remaining: 0 },
    ])
    expect(quotas[0]?.resetMs).to.equal(0)
    expect(retryAfterMs).to.equal(quotas[1]?.resetMs)
  })

  it('waits for the slowest of the quotas that refuse', async () => {
    const soon = quotaFor({ allow: 1, windowMs: LONG_MS })
    const late = quotaFor({ allow: 1, windowMs: 10 * LONG_MS })
    await admit(soon, late)
    const { retryAfterMs, quotas } = await admit(soon, late)
    expect(quotas.map(({ exceeded }) => exceeded)).to.deep.equal([true, true])
    expect(retryAfterMs).to.equal(quotas[1]?.resetMs)
  })

  it('keeps keys apart, also long ones and those of any script', async () => {
    const long = 'k'.repeat(500)
    const heads = [`${long}1`, `${long}2`, 'ключ', 'Ключ', '#', '##', 'a b', 'a\u0000b', 'a\u0000', '']
    const tail = uniqueKey()
    for (const admitted of [true, false]) {
      for (const head of heads) {
        const admission = await admit(quotaFor({ key: head + tail }))
        expect(admission.admitted, head).to.equal(admitted)
      }
    }
  })

  it('admits a request that no quota concerns', async () => {
    expect(await admit()).to.deep.include({ admitted: true, quotas: [], retryAfterMs: 0 })
  })

  it('takes a changed allowance at once', async () => {
    const quota = quotaFor({ allow: 4 })
    for (let ask = 0; ask < 4; ask++) await admit(quota)
    expect((await admit({ ...quota, allow: 2 })).admitted).to.equal(false)
    expect((await admit({ ...quota, allow: 5 })).quotas[0]?.remaining).to.equal(0)
  })

  it('forgets nothing when the length of the window changes', async () => {
    const quota = quotaFor({ allow: 2 })
    await admit(quota)
    await admit(quota)
    for (const windowMs of [LONG_MS / 2, LONG_MS * 5, LONG_MS]) {
      expect((await admit({ ...quota, windowMs })).admitted, `${windowMs}`).to.equal(false)
    }
  })

  it('allows as many as limits.yaml can say', async () => {
    const quota = quotaFor({ allow: 1_000_000_000 })
    expect((await admit(quota)).quotas[0]?.remaining).to.equal(999_999_999)
  })
}

let keys = 0

export function uniqueKey(): string {
  keys += 1
  return `k${process.pid}-${keys}`
}

export function quotaFor(quota: Partial<Quota>): Quota {
  return { name: 'test', key: uniqueKey(), allow: 1, windowMs: LONG_MS, ...quota }
}

async function askUntilRefused(limiter: Admitter, quota: Quota): Promise<Admission> {
  for (;;) {
    const admission = await limiter.admit([quota])
    if (!admission.admitted) return admission
  }
}
