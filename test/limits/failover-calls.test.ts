/** Which calls the failover makes, and which it spares, with shared counts that a test can watch. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { answerWithin } from '../../src/base/under-way.ts'
import { createFailoverLimiter, type SharedCounts } from '../../src/limits/create-limiter.ts'
import type { Admission } from '../../src/limits/limiter.ts'
import { createMemoryLimiter } from '../../src/limits/memory.ts'
import { quotaFor } from './contract.ts'
import { oneByOne } from './load.ts'

/** Longer than until the next probe. */
const PROBED_MS = 700

describe('a failover', () => {
  it('asks nothing of shared counts that it has lost, but for its probes', async () => {
    const { shared, calls } = watched(() => answerWithin(100, new Promise(() => {})))
    const limiter = await failover(shared)
    await oneByOne(limiter, 100)
    expect(calls).to.deep.equal({ connect: 1, admit: 1, disconnect: 0 })
    await sleep(PROBED_MS)
    expect(calls.connect).to.equal(2)
    await limiter.close()
  })

  it('ends the connection on which it lost them', async () => {
    let works = true
    const { shared, calls } = watched(async () => {
      if (works) return { admitted: true, quotas: [], retryAfterMs: 0 }
      throw new Error('lost')
    })
    const limiter = await failover(shared)
    works = false
    await limiter.admit([quotaFor({})])
    expect(limiter.state()).to.equal('degraded')
    expect(calls.disconnect).to.equal(1)
    await limiter.close()
  })

  it('does not connect again once it is closed', async () => {
    const { shared, calls } = watched(() => Promise.reject(new Error('lost')))
    const limiter = await failover(shared)
    await limiter.close()
    await sleep(PROBED_MS)
    expect(calls.connect).to.equal(1)
  })
})

function failover(shared: SharedCounts) {
  return createFailoverLimiter(shared, createMemoryLimiter(), { instances: 1, observe: () => {} })
}

function watched(admit: () => Promise<Admission>) {
  const calls = { connect: 0, admit: 0, disconnect: 0 }
  const shared: SharedCounts = {
    connect: async () => {
      calls.connect += 1
    },
    admit: () => {
      calls.admit += 1
      return admit()
    },
    onLost: () => {},
    disconnect: () => {
      calls.disconnect += 1
    },
  }
  return { shared, calls }
}
