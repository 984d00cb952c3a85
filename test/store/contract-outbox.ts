/** The contract: what goes alongside a write commits with it, in the order of the commits, or not at all. */
import { expect } from 'chai'
import type { Outbox } from '../../src/store/contract.ts'
import { StaleObject, StoreUnavailable, UniqueTaken } from '../../src/store/errors.ts'
import type { Open } from './engine.ts'
import { change, creation, failure, removal, UNFIT_RECORD } from './fixture.ts'

export function describeOutbox(open: Open): void {
  it('takes records without a write, in one order with those of writes', async () => {
    const { store, outbox } = await open()
    await store.create(creation('t1', {}), { record: 'made t1' })
    await outbox.note(['seen', 'refused \u0000'])
    await store.update(change('t1', 1, { count: 2 }), { record: 'changed t1' })
    expect(await recordsOf(outbox)).to.deep.equal(['made t1', 'seen', 'refused \u0000', 'changed t1'])
  })

  it('keeps the records of creates, updates and deletes in the order of their commits', async () => {
    const { store, outbox } = await open()
    await store.create(creation('t1', {}), { record: 'made t1' })
    await store.update(change('t1', 1, { count: 2 }), { record: 'changed t1' })
    await store.delete(removal('t1', 2), { record: 'deleted t1' })
    expect(await recordsOf(outbox)).to.deep.equal(['made t1', 'changed t1', 'deleted t1'])
  })

  it('keeps nothing of a write that did not take place', async () => {
    const { store, outbox } = await open()
    const record = { record: 'x' }
    await store.create(creation('t1', { code: 'x' }))
    expect(await failure(store.create(creation('t2', { code: 'x' }), record))).to.be.instanceOf(UniqueTaken)
    expect(await failure(store.update(change('t1', 7, {}), record))).to.be.instanceOf(StaleObject)
    expect(await failure(store.delete(removal('t1', 7), record))).to.be.instanceOf(StaleObject)
    expect(await recordsOf(outbox)).to.deep.equal([])
  })

  it('undoes a write whose record can not be kept, and goes on', async () => {
    const { store, outbox } = await open()
    const unfit = { record: UNFIT_RECORD }
    await store.create(creation('t1', {}))
    expect(await failure(store.create(creation('t2', {}), unfit))).to.be.instanceOf(StoreUnavailable)
    expect(await failure(store.update(change('t1', 1, { count: 2 }), unfit))).to.be.instanceOf(StoreUnavailable)
    expect(await failure(store.delete(removal('t1', 1), unfit))).to.be.instanceOf(StoreUnavailable)
    expect(await store.get('things', 't2')).to.equal(undefined)
    expect((await store.get('things', 't1'))?.version).to.equal(1)
    await store.create(creation('t3', {}), { record: 'made' })
    expect(await recordsOf(outbox)).to.deep.equal(['made'])
  })

  it('forgets what was shipped, and never uses a number twice', async () => {
    const { store, outbox } = await open()
    for (const id of ['a', 'b', 'c']) await store.create(creation(id, {}), { record: id })
    const [first, second, third] = await outbox.waiting(10)
    await outbox.shipped(second?.sequence ?? 0)
    expect(await recordsOf(outbox)).to.deep.equal(['c'])
    await outbox.shipped(third?.sequence ?? 0)
    await store.create(creation('d', {}), { record: 'd' })
    const [fourth] = await outbox.waiting(1)
    expect([first, second, third, fourth].map((one) => one?.sequence)).to.deep.equal([1, 2, 3, 4])
  })
}

async function recordsOf(outbox: Outbox): Promise<readonly string[]> {
  return (await outbox.waiting(100)).map(({ record }) => record)
}
