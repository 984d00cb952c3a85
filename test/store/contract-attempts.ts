/** The contract of attempts: counters by key, counted exactly by all instances, until they end. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import type { Attempts, Counter, Counters } from '../../src/store/directory.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { Clock, Open } from './engine.ts'
import { creation, failure } from './fixture.ts'

const NOW = Date.parse('2026-01-01T00:00:00.000Z')
const HOUR = 3_600_000

export function describeAttempts(open: Open, clock: () => Clock): void {
  it('has no counter of a key at first, and keeps what a judge makes of it', async () => {
    const { attempts } = await open()
    expect(await read(attempts, ['a', 'b'])).to.deep.equal({})
    const counter: Counter = { failures: 3, at: NOW, expiresAt: NOW + HOUR }
    expect(await attempts.count(['a'], () => ({ verdict: 'told', changes: new Map([['a', counter]]) }))).to.equal(
      'told',
    )
    expect(await read(attempts, ['a', 'b'])).to.deep.equal({ a: counter })
  })

  it('takes any key apart, whatever stands in it', async () => {
    const { attempts } = await open()
    const keys = ['', 'a', 'A', 'a\u0000', '\u0001', "' or 1=1 --", 'é', '😀']
    for (const [n, key] of keys.entries()) for (let i = 0; i <= n; i += 1) await countUp(attempts, key)
    const found = await read(attempts, keys)
    expect(keys.map((key) => found[key]?.failures)).to.deep.equal(keys.map((_, n) => n + 1))
  })

  it('deletes a counter, and changes no other one', async () => {
    const { attempts } = await open()
    for (const key of ['a', 'b']) await countUp(attempts, key)
    await attempts.count(['a'], () => ({ verdict: undefined, changes: new Map([['a', undefined]]) }))
    expect(Object.keys(await read(attempts, ['a', 'b']))).to.deep.equal(['b'])
  })

  it('forgets a counter at its end', async () => {
    const { attempts } = await open()
    await countUp(attempts, 'a')
    clock().time = new Date(NOW + HOUR - 1).toISOString()
    expect(await read(attempts, ['a'])).to.have.property('a')
    clock().time = new Date(NOW + HOUR).toISOString()
    expect(await read(attempts, ['a'])).to.deep.equal({})
    await countUp(attempts, 'a', NOW + 2 * HOUR)
    expect((await read(attempts, ['a'])).a?.failures).to.equal(1)
  })

  it('counts each of many racing attempts once', async () => {
    const { attempts } = await open()
    await Promise.all(Array.from({ length: 40 }, (_, n) => countUp(attempts, n % 2 === 0 ? 'a' : 'b')))
    const found = await read(attempts, ['a', 'b'])
    expect([found.a?.failures, found.b?.failures]).to.deep.equal([20, 20])
  })

  it('lets other writes pass while many attempts are counted', async () => {
    const { attempts, store } = await open()
    let left = 200
    const all = Array.from({ length: left }, async () => {
      await countUp(attempts, 'a')
      left -= 1
    })
    while (left > 180) await nextTurn()
    await store.create(creation('x', {}))
    expect(left).to.be.above(100)
    await Promise.all(all)
  })

  it('changes nothing where the judge throws, and tells what it threw', async () => {
    const { attempts } = await open()
    const judged = attempts.count(['a'], () => {
      throw new StoreUnavailable('a fault')
    })
    expect(await failure(judged)).to.be.instanceOf(StoreUnavailable)
    await countUp(attempts, 'a')
    expect((await read(attempts, ['a'])).a?.failures).to.equal(1)
  })
}

/** Instances that share a database. */
export function describeSharedAttempts(open: Open): void {
  it('counts each attempt at several instances once', async () => {
    const instances = await Promise.all([1, 2, 3].map(() => open()))
    await Promise.all(instances.flatMap(({ attempts }) => Array.from({ length: 10 }, () => countUp(attempts, 'a'))))
    const [first] = instances
    expect(first && (await read(first.attempts, ['a'])).a?.failures).to.equal(30)
  })
}

async function read(attempts: Attempts, keys: readonly string[]): Promise<Record<string, Counter>> {
  return Object.fromEntries(await attempts.count(keys, (counters) => ({ verdict: new Map(counters) })))
}

async function countUp(attempts: Attempts, key: string, expiresAt = NOW + HOUR): Promise<void> {
  await attempts.count([key], (counters: Counters) => {
    const failures = (counters.get(key)?.failures ?? 0) + 1
    return { verdict: undefined, changes: new Map([[key, { failures, at: NOW, expiresAt }]]) }
  })
}
