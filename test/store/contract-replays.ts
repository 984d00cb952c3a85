/** The contract: an idempotency key commits with what was created under it, or not at all, and is forgotten after a day. */
import { expect } from 'chai'
import type { Replay } from '../../src/store/contract.ts'
import { ReplayTaken, StoreUnavailable, UniqueTaken } from '../../src/store/errors.ts'
import { ALL, type Clock, type Open } from './engine.ts'
import { creation, failure, UNFIT_RECORD } from './fixture.ts'

const REPLAY: Replay = { subject: 'ann', route: '/things', key: 'k', fingerprint: 'f' }

export function describeReplays(open: Open, clock: () => Clock): void {
  it('keeps an idempotency key with the object as it was created', async () => {
    const { store } = await open()
    expect(await store.kept(REPLAY)).to.equal(undefined)
    const created = await store.create(creation('a', { tags: ['x'] }), { replay: REPLAY })
    expect(await store.kept(REPLAY)).to.deep.equal({ fingerprint: 'f', object: created })
    for (const other of [{ subject: 'bob' }, { route: '/Things' }, { key: 'K' }]) {
      expect(await store.kept({ ...REPLAY, ...other })).to.equal(undefined)
    }
  })

  it('creates nothing under a key that is taken', async () => {
    const { store } = await open()
    await store.create(creation('a', {}), { replay: REPLAY })
    const again = store.create(creation('b', {}), { replay: { ...REPLAY, fingerprint: 'g' } })
    expect(await failure(again)).to.be.instanceOf(ReplayTaken)
    expect((await store.list('things', ALL)).map(({ id }) => id)).to.deep.equal(['a'])
    expect((await store.kept(REPLAY))?.fingerprint).to.equal('f')
  })

  it('keeps no key of a create that failed', async () => {
    const { store } = await open()
    await store.create(creation('a', { code: 'c' }))
    const taken = store.create(creation('b', { code: 'c' }), { replay: REPLAY })
    expect(await failure(taken)).to.be.instanceOf(UniqueTaken)
    const unfit = store.create(creation('b', {}), { replay: REPLAY, record: UNFIT_RECORD })
    expect(await failure(unfit)).to.be.instanceOf(StoreUnavailable)
    expect(await store.kept(REPLAY)).to.equal(undefined)
  })

  it('forgets a key after 24 hours, and takes it anew then', async () => {
    const { store } = await open()
    await store.create(creation('a', {}), { replay: REPLAY })
    clock().time = '2026-01-01T23:59:59.999Z'
    expect((await store.kept(REPLAY))?.object.id).to.equal('a')
    clock().time = '2026-01-02T00:00:00.000Z'
    expect(await store.kept(REPLAY)).to.equal(undefined)
    await store.create(creation('b', {}), { replay: REPLAY })
    expect((await store.kept(REPLAY))?.object.id).to.equal('b')
  })
}
