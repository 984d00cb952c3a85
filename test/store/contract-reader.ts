/** The contract of reading beside a running server: rows come as they are stored, and what disagrees is told. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { ObjectReader, StoredRow } from '../../src/store/object-reader.ts'
import { ANY_CHARACTER } from '../any-character.ts'
import { NEW_YEAR, type TestDatabase } from './engine.ts'
import { change, creation, field, RESOURCES, resource, resourcesOf } from './fixture.ts'

const NOW = { resources: RESOURCES, now: () => new Date(NEW_YEAR) }
const THINGS = RESOURCES.byName.get('things') ?? fail()
const CAPITAL = RESOURCES.byName.get('Things') ?? fail()
const NEW = resource('new', [field('id', 'string')])

function fail(): never {
  throw new Error('the fixture has no such resource')
}

export function describeReader(database: () => TestDatabase): void {
  const withReader = async <T>(use: (reader: ObjectReader) => Promise<T>): Promise<T> => {
    const reader = (await database().openReader?.()) ?? fail()
    try {
      return await use(reader)
    } finally {
      await reader.close()
    }
  }

  it('gives all rows page by page as they are stored, sorted by id', async () => {
    const { store } = await database().open(NOW)
    const ids = ['a', 'A', 'a\u0000', 'a\u0001', '\u0001', '\uffff', '\u{10000}', 'é', ' ']
    for (const id of ids) await store.create(creation(id, { status: id, tags: ['x', 1, null], __proto__: null }))
    await store.update(change('a', 1, { status: 'ä', due: '2026-01-01T00:00:00Z' }))
    const rows = await withReader((reader) => allRows(reader, 2))
    const sorted = ids.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
    expect(rows.map(({ id }) => id)).to.deep.equal(sorted)
    for (const { id, text, version, createdAt, updatedAt, disagreeing } of rows) {
      const stored = await store.get('things', id)
      expect({ id, version, createdAt, updatedAt, document: JSON.parse(text) }).to.deep.equal(stored)
      expect(disagreeing).to.deep.equal([])
    }
  })

  it('gives damaged rows like others, with the text that is there', async () => {
    const { seeding } = await database().open(NOW)
    const damages = ['', '{"title":', '[]', 'null', '5', '"text"', '{"a":1,"a":2}', 'x'.repeat(1000)]
    const made = damages.map((_, n) => ({ id: `t${n}`, document: { ownerId: 'alice' } }))
    await seeding.insert('Things', [...made, { id: 'whole', document: {} }])
    for (const [n, text] of damages.entries()) await database().damage?.(`t${n}`, text)
    const rows = await withReader((reader) => allRows(reader, 3, CAPITAL))
    expect(rows.map(({ text }) => text)).to.deep.equal([...damages, '{}'])
  })

  it('ends a page with the row that makes it too large, and never before the first', async () => {
    const { seeding } = await database().open(NOW)
    const objects = Array.from({ length: 6 }, (_, n) => ({ id: `t${n}`, document: { status: 'x'.repeat(1000) } }))
    await seeding.insert('things', objects)
    const sizes = async (bytes: number) =>
      withReader(async (reader) => (await reader.rows(THINGS, { limit: 100, bytes })).length)
    expect([await sizes(0), await sizes(1500), await sizes(1e9)]).to.deep.equal([1, 2, 6])
  })

  it('has random objects whole, whatever their fields hold, and none of them disagrees', async () => {
    const { store } = await database().open(NOW)
    const value = fc.oneof(fc.string({ unit: ANY_CHARACTER }), fc.double(), fc.jsonValue(), fc.date().map(String))
    const documents = fc.sample(fc.dictionary(fc.string({ unit: ANY_CHARACTER }), value), 100)
    for (const [n, document] of documents.entries()) {
      await store.create(creation(`r${n}`, JSON.parse(JSON.stringify(document))))
    }
    const rows = await withReader((reader) => allRows(reader, 7))
    expect(rows).to.have.length(documents.length)
    for (const { id, text, disagreeing } of rows) {
      expect(JSON.parse(text)).to.deep.equal((await store.get('things', id))?.document)
      expect(disagreeing, text).to.deep.equal([])
    }
  })

  it('sees each write at once, and keeps no writer waiting between two pages', async () => {
    const { store } = await database().open(NOW)
    for (const id of ['a', 'b', 'c']) await store.create(creation(id, {}))
    await withReader(async (reader) => {
      const [first] = await reader.rows(THINGS, { limit: 1 })
      await store.create(creation('d', {}))
      await store.update(change('b', 1, { status: 'new' }))
      const rest = await reader.rows(THINGS, { after: first?.place ?? '', limit: 10 })
      expect(rest.map(({ id, version }) => [id, version])).to.deep.equal([
        ['b', 2],
        ['c', 1],
        ['d', 1],
      ])
      expect(await reader.count(THINGS)).to.equal(4)
    })
  })

  it('says which ids objects have', async () => {
    const { store } = await database().open(NOW)
    for (const id of ['a', 'b\u0000', '\ufffd']) await store.create(creation(id, {}))
    await withReader(async (reader) => {
      const found = await reader.existing(THINGS, ['a', 'b\u0000', 'c', '\ud800', ''])
      expect([...found].sort()).to.deep.equal(['a', 'b\u0000'])
      expect([...(await reader.existing(THINGS, []))]).to.deep.equal([])
    })
  })

  it('finds objects that share a value, as an index of unique values compares them', async () => {
    const { store, seeding } = await database().open(NOW)
    const statuses = ['x', 'y', 'x', 'X', true, 1, 1.0, null, null, ['x'], undefined]
    for (const [n, status] of statuses.entries()) {
      await store.create(creation(`t${String(n).padStart(2, '0')}`, status === undefined ? {} : { status }))
    }
    await seeding.insert('Things', [
      { id: 'a', document: { ownerId: 'o' } },
      { id: 'b', document: { ownerId: 'o' } },
      { id: 'c', document: { ownerId: 'p' } },
    ])
    await database().damage?.('c', '{"ownerId":')
    await withReader(async (reader) => {
      expect(await reader.shared(THINGS, ['status'], 10)).to.deep.equal({ count: 4, ids: ['t00', 't02', 't05', 't06'] })
      expect(await reader.shared(THINGS, ['status'], 1)).to.deep.equal({ count: 4, ids: ['t00'] })
      expect(await reader.shared(THINGS, ['code'], 10)).to.deep.equal({ count: 0, ids: [] })
      expect(await reader.shared(CAPITAL, ['ownerId'], 10)).to.deep.equal({ count: 2, ids: ['a', 'b'] })
    })
  })

  it('names the tables whose schema is gone, and has no objects of a resource that was never stored', async () => {
    const { seeding } = await database().open(NOW)
    await seeding.insert('Things', [{ id: 'a', document: {} }])
    await withReader(async (reader) => {
      expect(await reader.undeclared(RESOURCES)).to.deep.equal([])
      expect(await reader.undeclared(resourcesOf(THINGS, NEW))).to.deep.equal([{ resource: 'Things', count: 1 }])
      expect([await reader.hasTable(NEW), await reader.hasTable(THINGS)]).to.deep.equal([false, true])
      expect(await reader.count(NEW)).to.equal(0)
      expect(await reader.rows(NEW, { limit: 1 })).to.deep.equal([])
      expect(await reader.shared(NEW, ['id'], 1)).to.deep.equal({ count: 0, ids: [] })
      expect([...(await reader.existing(NEW, ['a']))]).to.deep.equal([])
    })
  })

  it('finds no fault in the indexes of a database that only a store has written', async () => {
    const { store } = await database().open(NOW)
    await store.create(creation('a', { code: 'x', status: 'y', due: NEW_YEAR }))
    const { faults } = await withReader((reader) => reader.checkIndexes(THINGS, 10))
    expect(faults).to.deep.equal([])
  })
}

async function allRows(reader: ObjectReader, limit: number, of = THINGS): Promise<readonly StoredRow[]> {
  const rows: StoredRow[] = []
  for (;;) {
    const after = rows.at(-1)?.place
    const page = await reader.rows(of, { limit, ...(after !== undefined && { after }) })
    if (page.length === 0) return rows
    expect(page.length).to.be.at.most(limit)
    rows.push(...page)
  }
}
