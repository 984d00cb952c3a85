/** The contract: lists come in the order of ids, page by page. */
import { expect } from 'chai'
import type { Condition } from '../../src/decide/conditions/condition.ts'
import type { ObjectQuery, Store } from '../../src/store/contract.ts'
import { listedOf } from '../listed.ts'
import { ALL, type Open } from './engine.ts'
import { creation, removal } from './fixture.ts'

export function describeLists(open: Open): void {
  it('lists in the order of ids by code points', async () => {
    const { store, seeding } = await open()
    const ids = ['b', 'a', 'B', '\u{1f600}', '\uffff', 'é', 'a\u0000', 'aa', '10', '9', '']
    await seeding.insert(
      'things',
      ids.map((id) => ({ id, document: {} })),
    )
    const ordered = ids.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
    expect((await store.list('things', ALL)).map((object) => object.id)).to.deep.equal(ordered)
  })

  it('gives whole objects', async () => {
    const { store } = await open()
    const created = await store.create(creation('t1', { tags: ['a'] }))
    expect(await store.list('things', ALL)).to.deep.equal([listedOf(created)])
  })

  it('gives at most `limit` objects, after the given id', async () => {
    const { store, seeding } = await open()
    const ids = ['a', 'b', 'c', 'd', 'e']
    await seeding.insert(
      'things',
      ids.map((id) => ({ id, document: {} })),
    )
    const page = async (query: Partial<ObjectQuery>) =>
      (await store.list('things', { ...ALL, ...query })).map((object) => object.id).join('')
    expect(await page({ limit: 2 })).to.equal('ab')
    expect(await page({ limit: 2, after: ['b'] })).to.equal('cd')
    expect(await page({ limit: 2, after: ['bb'] })).to.equal('cd')
    expect(await page({ after: ['e'] })).to.equal('')
    expect(await page({ after: [''] })).to.equal('abcde')
    expect(await page({ limit: 0 })).to.equal('')
  })

  it('ends with the object by which all together take more bytes, but not with the first, and reads no further', async () => {
    const { store, seeding } = await open()
    const sized = (id: string, size: number) => ({ id, document: { title: 'x'.repeat(size) } })
    await seeding.insert('things', [
      sized('a', 5000),
      ...['b', 'c', 'd', 'e'].map((id) => sized(id, 1000)),
      sized('f', 1),
    ])
    const page = async (query: Partial<ObjectQuery>) =>
      (await store.list('things', { ...ALL, ...query })).map((object) => object.id).join('')
    expect(await page({ bytes: 100 })).to.equal('ab')
    expect(await page({ bytes: 100, limit: 1 })).to.equal('a')
    expect(await page({ bytes: 100, after: ['a'] })).to.equal('bc')
    expect(await page({ bytes: 3000, after: ['a'] })).to.equal('bcd')
    expect(await page({ bytes: 3000, after: ['a'], limit: 2 })).to.equal('bc')
    expect(await page({ bytes: 6500 })).to.equal('abc')
    expect(await page({ bytes: 20_000 })).to.equal('abcdef')
    // In an order of several segments, too.
    const order = [
      { field: 'price', by: 'value', descending: false },
      { field: 'id', by: 'value', descending: false },
    ] as const
    expect(await page({ bytes: 3000, order, after: [null, 'a'] })).to.equal('bcd')
  })

  it('neither repeats nor skips an object over pages while others are written and deleted', async () => {
    const { store, seeding } = await open()
    const ids = Array.from({ length: 40 }, (_, index) => `k${String(index).padStart(2, '0')}`)
    await seeding.insert(
      'things',
      ids.map((id) => ({ id, document: { ownerId: 'a' } })),
    )
    const seen = await walk(store, 7, async (page) => {
      await store.create(creation(`k0${page}x`, { ownerId: 'a' }))
      await store.delete(removal(`k0${page}`, 1))
    })
    expect(new Set(seen).size).to.equal(seen.length)
    expect(ids.slice(10).every((id) => seen.includes(id))).to.equal(true)
  })
}

/** The ids of all pages, with something done after each (pages count from 0). */
async function walk(store: Store, limit: number, between: (page: number) => Promise<void>): Promise<readonly string[]> {
  const where: Condition = { kind: 'holds', field: 'ownerId', values: ['a'] }
  const seen: string[] = []
  for (let page = 0; ; page += 1) {
    const last = seen.at(-1)
    const objects = await store.list('things', { where, limit, ...(last === undefined ? {} : { after: [last] }) })
    if (objects.length === 0) return seen
    seen.push(...objects.map((object) => object.id))
    await between(page)
  }
}
