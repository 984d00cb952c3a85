/** The contract: what a database keeps besides objects, and what a closed, reopened or second instance sees. */
import { expect } from 'chai'
import { StaleObject, StoreUnavailable, UniqueTaken } from '../../src/store/errors.ts'
import { ALL, type Open } from './engine.ts'
import { change, creation, failure, removal } from './fixture.ts'

export function describeMeta(open: Open): void {
  it('makes a secret of 32 bytes on first use and keeps it', async () => {
    const { store } = await open()
    const [first, second, other] = await Promise.all([store.secret('a'), store.secret('a'), store.secret('b')])
    expect(first).to.have.length(32)
    expect([...first]).to.deep.equal([...second])
    expect([...first]).not.to.deep.equal([...other])
  })

  it('keeps marks, and has none in a new database', async () => {
    const { seeding } = await open()
    expect(await seeding.readMark('data')).to.equal(undefined)
    await seeding.writeMark('data', 'demo')
    await seeding.writeMark('data', 'live')
    expect(await seeding.readMark('data')).to.equal('live')
    expect(await seeding.readMark('other')).to.equal(undefined)
  })

  it('inserts all given objects at version 1 or, when one fails, none', async () => {
    const { store, seeding } = await open()
    await seeding.insert('things', [
      { id: 'a', document: { code: 'x' } },
      { id: 'b', document: {} },
    ])
    expect((await store.get('things', 'a'))?.version).to.equal(1)
    const again = seeding.insert('things', [
      { id: 'c', document: {} },
      { id: 'd', document: { code: 'x' } },
    ])
    expect(await failure(again)).to.be.instanceOf(UniqueTaken)
    expect(await seeding.count('things')).to.equal(2)
    await store.create(creation('c', {}))
    expect(await seeding.count('things')).to.equal(3)
  })
}

export function describeClosed(open: Open): void {
  it('answers a ping while it is open', async () => {
    const { store } = await open()
    await store.ping()
  })

  it('refuses everything with StoreUnavailable and the cause once closed, and closes twice without complaint', async () => {
    const { store, seeding } = await open()
    await store.close()
    await store.close()
    const calls = [
      () => store.get('things', 'a'),
      store.list('things', ALL),
      store.create(creation('a', {})),
      store.update(change('a', 1, {})),
      store.delete(removal('a', 1)),
      store.secret('a'),
      store.ping(),
      seeding.insert('things', [{ id: 'a', document: {} }]),
      seeding.readMark('a'),
      seeding.writeMark('a', 'b'),
      seeding.count('things'),
    ]
    for (const call of calls) {
      const error = await failure(call)
      expect(error).to.be.instanceOf(StoreUnavailable)
      expect((error as StoreUnavailable).cause).to.be.an('error')
    }
  })
}

export function describeInstances(open: Open): void {
  it('finds everything again after it was closed', async () => {
    const first = await open()
    const created = await first.store.create(creation('t1', { code: 'x' }))
    const secret = await first.store.secret('a')
    await first.seeding.writeMark('data', 'demo')
    await first.store.close()
    const second = await open()
    expect(await second.store.get('things', 't1')).to.deep.equal(created)
    expect([...(await second.store.secret('a'))]).to.deep.equal([...secret])
    expect(await second.seeding.readMark('data')).to.equal('demo')
  })

  it('shows one instance at once what another has written, and lets one of them win', async () => {
    const [first, second] = [await open(), await open()]
    await first.store.create(creation('t1', { code: 'x' }))
    await second.store.update(change('t1', 1, { code: 'y' }))
    expect((await first.store.get('things', 't1'))?.version).to.equal(2)
    expect(await failure(first.store.update(change('t1', 1, {})))).to.be.instanceOf(StaleObject)
    expect(await failure(first.store.create(creation('t2', { code: 'y' })))).to.be.instanceOf(UniqueTaken)
    expect([...(await first.store.secret('a'))]).to.deep.equal([...(await second.store.secret('a'))])
  })
}
