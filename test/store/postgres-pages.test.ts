/** Pages of lists on PostgreSQL come as one text; whatever stands in it, each row is whole and none is made up. */
import { expect } from 'chai'
import type pg from 'pg'
import type { Condition } from '../../src/decide/conditions/condition.ts'
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

  it('shares a statement with the pages of its turn that an index has in their order, and each gets its own', async () => {
    for (const [at, owner] of ['a', 'b', 'a', 'c', 'a', 'b'].entries()) {
      await store.create(creation(`t${at}`, { ownerId: owner, title: 'x'.repeat(at === 5 ? 900 : 1) }))
    }
    const of = (owner: string): Condition => ({ kind: 'holds', field: 'ownerId', values: [owner] })
    const order = [{ field: 'id', by: 'value', descending: true }] as const
    const shared: readonly Partial<ObjectQuery>[] = [
      { where: of('a') },
      { where: of('b') },
      { where: of('a'), limit: 2 },
      { where: of('a') },
      { where: of("nobody's ' \\ \0"), limit: 0 },
    ]
    const ids = async (queries: readonly Partial<ObjectQuery>[]) => {
      const found = await Promise.all(queries.map((query) => listed(query)))
      return found.map((rows) => rows.map(({ row }) => row.id).join())
    }
    const [found, statements] = await countedStatements(() => ids(shared))
    expect(found).to.deep.equal(['t0,t2,t4', 't1,t5', 't0,t2', 't0,t2,t4', ''])
    expect(statements).to.equal(1)
    const [later, three] = await countedStatements(() =>
      ids([
        { where: of('a'), after: ['t0'], limit: 1 },
        { where: of('b'), after: ['t1'] },
        { where: of('a'), order, limit: 2 },
        { order, after: ['t3'] },
      ]),
    )
    expect(later).to.deep.equal(['t2', 't5', 't4,t2', 't2,t1,t0'])
    expect(three, 'by shape').to.equal(3)
    // A large document is read by a statement of its own.
    expect(
      await ids([
        { where: of('b'), bytes: 500 },
        { where: of('a'), bytes: 500 },
      ]),
    ).to.deep.equal(['t1,t5', 't0,t2,t4'])
  })

  it('has a statement for itself where the index may find few among many', async () => {
    await store.create(creation('t1', { ownerId: 'a', title: 'x' }))
    const own: Condition = { kind: 'holds', field: 'ownerId', values: ['a'] }
    const plain: Condition = { kind: 'holds', field: 'title', values: ['x'] }
    for (const query of [
      { where: { kind: 'some', of: [own, plain] } },
      { where: { kind: 'not', of: { kind: 'holds', field: 'ownerId', values: ['b'] } } },
      { where: plain, filter: [{ field: 'ownerId', by: 'value', operator: 'gte', values: ['a'] }] },
      { where: own, marks: [plain] },
      {
        where: own,
        order: [
          { field: 'price', by: 'value', descending: false },
          { field: 'id', by: 'value', descending: false },
        ],
      },
    ] as const satisfies readonly Partial<ObjectQuery>[]) {
      const [found, statements] = await countedStatements(() => Promise.all([listed(query), listed(query)]))
      expect(found.map((rows) => rows.length)).to.deep.equal([1, 1])
      expect(statements, JSON.stringify(query)).to.equal(2)
    }
  })

  it('is refused if it has more cells than its rows', () => {
    const row = ['a', TIME, TIME, '{}'].join(SEPARATOR)
    expect(readPage([1, row], ALL)?.map(({ id }) => id)).to.deep.equal(['a'])
    expect(readPage([1, [row, FORGED].join(SEPARATOR)], ALL)).to.equal(undefined)
    expect(readPage([2, row], ALL)).to.equal(undefined)
  })
})
