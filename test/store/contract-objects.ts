/** The contract: single objects come back as written, and a write needs the version that was checked. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Document } from '../../src/resources/object.ts'
import { StaleObject, StoreUnavailable } from '../../src/store/errors.ts'
import { ANY_CHARACTER } from '../any-character.ts'
import { runs } from '../runs.ts'
import { type Clock, NEW_YEAR, type Open } from './engine.ts'
import { change, creation, failure, removal } from './fixture.ts'

export function describeObjects(open: Open, clock: () => Clock): void {
  it('gives back what was created, at version 1, with the time of its creation', async () => {
    const { store } = await open()
    const created = await store.create(creation('t1', { ownerId: 'alice' }))
    expect(created).to.deep.equal({
      id: 't1',
      version: 1,
      createdAt: NEW_YEAR,
      updatedAt: NEW_YEAR,
      document: { ownerId: 'alice' },
    })
    expect(await store.get('things', 't1')).to.deep.equal(created)
  })

  it('knows no object that was not created, whatever the id', async () => {
    const { store } = await open()
    await store.create(creation('\ufffd', {}))
    for (const id of ['t1', '', '\ud800', "' or 1=1 --", 'T1\u0000']) {
      expect(await store.get('things', id), id).to.equal(undefined)
    }
  })

  it('takes ids apart that differ by case, by a NUL or by accents', async () => {
    const { store } = await open()
    const ids = ['a', 'A', 'a\u0000', 'a\u0000b', 'é', 'e\u0301', '1', '01', ' a']
    for (const id of ids) await store.create(creation(id, { status: id }))
    for (const id of ids) expect((await store.get('things', id))?.document).to.deep.equal({ status: id })
  })

  it('keeps the objects of each resource apart', async () => {
    const { store } = await open()
    await store.create(creation('t1', { ownerId: 'small' }, 'things'))
    await store.create(creation('t1', { ownerId: 'capital' }, 'Things'))
    expect((await store.get('things', 't1'))?.document).to.deep.equal({ ownerId: 'small' })
    expect((await store.get('Things', 't1'))?.document).to.deep.equal({ ownerId: 'capital' })
  })

  it('reads at once what it reads alone, and fails as the work fails', async () => {
    const { store } = await open()
    await store.create(creation('t1', { ownerId: 'alice' }))
    const [found, missing] = await Promise.all(
      store.inOneReadTransaction(() => [store.get('things', 't1'), store.get('things', 't2')] as const),
    )
    expect(found).to.deep.equal(await store.get('things', 't1'))
    expect(missing).to.equal(undefined)
    expect(await failure(() => store.inOneReadTransaction(() => store.get('unknown', 't1')))).to.be.an('error')
    await store.delete(removal('t1', 1))
  })

  it('has no objects of a resource that the program itself serves, and says that this is a mistake', async () => {
    const { store } = await open()
    for (const name of ['system/health', 'unknown', '__proto__']) {
      expect(await failure(() => store.get(name, 't1')))
        .to.be.an('error')
        .and.not.instanceOf(StoreUnavailable)
    }
  })

  it('updates: the version goes up by 1, the creation time stays, the document is replaced whole', async () => {
    const { store } = await open()
    await store.create(creation('t1', { ownerId: 'alice', status: 'draft' }))
    clock().time = '2026-01-02T03:04:05.678Z'
    const updated = await store.update(change('t1', 1, { ownerId: 'bob' }))
    expect(updated).to.deep.equal({
      id: 't1',
      version: 2,
      createdAt: NEW_YEAR,
      updatedAt: '2026-01-02T03:04:05.678Z',
      document: { ownerId: 'bob' },
    })
    expect(await store.get('things', 't1')).to.deep.equal(updated)
  })

  it('refuses to update or delete another version than the one that was checked, and changes nothing', async () => {
    const { store } = await open()
    await store.create(creation('t1', { status: 'draft' }))
    const current = await store.update(change('t1', 1, { status: 'open' }))
    for (const version of [0, 1, 3]) {
      expect(await failure(store.update(change('t1', version, {})))).to.be.instanceOf(StaleObject)
      expect(await failure(store.delete(removal('t1', version)))).to.be.instanceOf(StaleObject)
    }
    expect(await store.get('things', 't1')).to.deep.equal(current)
  })

  it('deletes for good, and a second time it is stale', async () => {
    const { store } = await open()
    await store.create(creation('t1', {}))
    await store.delete(removal('t1', 1))
    expect(await store.get('things', 't1')).to.equal(undefined)
    expect(await failure(store.delete(removal('t1', 1)))).to.be.instanceOf(StaleObject)
    expect(await failure(store.update(change('t1', 1, {})))).to.be.instanceOf(StaleObject)
  })

  it('lets exactly one of 100 racing updates of one version win', async () => {
    const { store } = await open()
    await store.create(creation('t1', {}))
    const racing = Array.from({ length: 100 }, (_, count) => store.update(change('t1', 1, { count })))
    const outcomes = await Promise.allSettled(racing)
    const winners = outcomes.filter((outcome) => outcome.status === 'fulfilled').map((outcome) => outcome.value)
    const losers = outcomes.filter((outcome) => outcome.status === 'rejected').map((outcome) => outcome.reason)
    expect(winners).to.have.length(1)
    expect(losers.every((reason) => reason instanceof StaleObject)).to.equal(true)
    expect(await store.get('things', 't1')).to.deep.equal(winners[0])
  })

  it('gives any JSON back exactly as it was written', async () => {
    const { store } = await open()
    const name = fc.string({ unit: ANY_CHARACTER }).filter((key) => !['id', 'createdAt', 'updatedAt'].includes(key))
    const anyDocument = fc.dictionary(name, fc.jsonValue({ stringUnit: 'binary' })) as fc.Arbitrary<Document>
    let count = 0
    await fc.assert(
      fc.asyncProperty(anyDocument, async (document) => {
        count += 1
        await store.create(creation(`t${count}`, document))
        const found = await store.get('things', `t${count}`)
        expect(JSON.stringify(found?.document)).to.equal(JSON.stringify(document))
      }),
      { numRuns: runs(100, 30) },
    )
  })

  it('gives the traps of JSON back as plain data', async () => {
    const { store } = await open()
    const text = `{"__proto__":{"admin":true},"constructor":1,"toJSON":"x","":0,"n":9007199254740991,"m":-1e-7,"z":"\\u0000"}`
    await store.create(creation('t1', JSON.parse(text)))
    const document = (await store.get('things', 't1'))?.document ?? {}
    expect(JSON.stringify(document)).to.equal(JSON.stringify(JSON.parse(text)))
    expect(Object.hasOwn(document, '__proto__')).to.equal(true)
    expect(document.admin).to.equal(undefined)
  })
}
