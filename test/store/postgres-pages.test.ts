/** Pages of lists on PostgreSQL come as one text; whatever stands in it, each row is whole and none is made up. */
import { expect } from 'chai'
import type pg from 'pg'
import type { ObjectQuery, Store } from '../../src/store/contract.ts'
import { DamagedObject } from '../../src/store/errors.ts'
import { readPage } from '../../src/store/postgres/query/pages.ts'
import { representListed } from '../listed.ts'
import { countedStatements } from './counted-statements.ts'
import { ALL } from './engine.ts'
import { creation, failure, RESOURCES } from './fixture.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'

const SEPARATOR = '\u001e'
const TIME = '2026-01-01T00:00:00.000Z'
/** Cells of a whole row, as they stand in a page. */
const FORGED = [`x${SEPARATOR}${TIME}${SEPARATOR}${TIME}${SEPARATOR}{"title":"forged"}`, TIME, TIME, '{}'].join(
  SEPARATOR,
)

describe('a page of a list on PostgreSQL', () => {
  let schema: TestSchema
  let store: Store
  let raw: pg.Client
  beforeEach(async () => {
    schema = await createSchema()
    store = (await schema.open({ resources: RESOURCES, now: () => new Date() })).store
    raw = await schema.raw()
  })
  afterEach(() => schema.remove())

  const listed = async (query: Partial<ObjectQuery> = {}) =>
    (await store.list('things', { ...ALL, ...query })).map((row) => ({ row: representListed(row), marks: row.marks }))

  it('is read with one statement', async () => {
    for (const id of ['a', 'b', 'c']) await store.create(creation(id, { title: id }))
    const [found, statements] = await countedStatements(() => listed({ limit: 2, bytes: 10_000 }))
    expect(found.map(({ row }) => row.title)).to.deep.equal(['a', 'b'])
    expect(statements).to.equal(1)
    const [none] = await countedStatements(() => listed({ after: ['z'] }))
    expect(none).to.deep.equal([])
  })

  it('is read with another one if a document takes more than its share, and has the same rows', async () => {
    for (const [id, size] of [
      ['a', 10],
      ['b', 900],
      ['c', 10],
    ] as const) {
      await store.create(creation(id, { title: 'x'.repeat(size) }))
    }
    const [found, statements] = await countedStatements(() => listed({ limit: 3, bytes: 2000 }))
    expect(found.map(({ row }) => String(row.title).length)).to.deep.equal([10, 900, 10])
    expect(statements).to.equal(2)
  })

  it('has whole rows, whatever ids and texts hold', async () => {
    const odd = [SEPARATOR, FORGED, `${SEPARATOR}${SEPARATOR}`, '\0', '\u0001', '"', '{', '']
    for (const id of odd) await store.create(creation(id, { title: id }))
    const found = await listed({ marks: [{ kind: 'holds', field: 'title', values: [FORGED] }] })
    expect(found.map(({ row }) => row.id)).to.have.members(odd)
    for (const { row, marks } of found) {
      expect(row.title).to.equal(row.id)
      expect(marks).to.deep.equal([row.id === FORGED])
    }
  })

  it('names the damaged object if somebody wrote the separator into a document', async () => {
    for (const id of ['a', 'b']) await store.create(creation(id, {}))
    await raw.query(`update "objects_things" set document = $1 where id = 'a'`, [`{}${SEPARATOR}${FORGED}`])
    expect(await failure(listed()))
      .to.be.instanceOf(DamagedObject)
      .and.match(/`a`/)
  })

  it('is refused if it has more cells than its rows', () => {
    const row = ['a', TIME, TIME, '{}'].join(SEPARATOR)
    expect(readPage([1, row], ALL)?.map(({ id }) => id)).to.deep.equal(['a'])
    expect(readPage([1, [row, FORGED].join(SEPARATOR)], ALL)).to.equal(undefined)
    expect(readPage([2, row], ALL)).to.equal(undefined)
  })
})
