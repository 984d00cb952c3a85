/** A list by membership on PostgreSQL is quick, although the order of the list has the member's objects last. */
import { expect } from 'chai'
import type pg from 'pg'
import type { Document } from '../../src/resources/object.ts'
import type { ObjectQuery, Store } from '../../src/store/contract.ts'
import { ReadTooLong } from '../../src/store/errors.ts'
import { READ_BOUNDS } from '../../src/store/lists/read-bounds.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { until } from '../until.ts'
import { member } from './conditions.ts'
import { failure } from './fixture.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'
import { INDEXED, RELATED } from './random-related.ts'

const TASKS = 40_000
const PROJECTS = 400
const LATE = 40

const QUERY: ObjectQuery = {
  where: member('late'),
  order: [
    { field: 'count', by: 'value', descending: true },
    { field: 'id', by: 'value', descending: true },
  ],
  limit: 50,
}

describe('a list on PostgreSQL in whose order the caller comes last', () => {
  let schema: TestSchema
  let raw: pg.Client
  const stores: Store[] = []
  before(async () => {
    schema = await createSchema()
    const { seeding, store } = await openPostgres({ ...opening(), url: schema.url })
    stores.push(store)
    const insert = (resource: string, count: number, document: (n: number) => Document, name = 'o') =>
      seeding.insert(
        resource,
        Array.from({ length: count }, (_, n) => ({ id: `${name}${n}`, document: document(n) })),
      )
    raw = await schema.raw()
    // The store's limits of time are for requests, and a busy machine takes longer for so many.
    const copy = (resource: string, copies: number) =>
      raw.query(`insert into "objects_${resource}"
        select (jsonb_populate_record(made, jsonb_build_object('id', made.id || '.' || n))).*
        from "objects_${resource}" made, generate_series(2, ${copies}) n`)
    await insert('projects', PROJECTS, () => ({ own: 'lead' }))
    await insert('users', PROJECTS, (n) => ({ up: `o${n}`, own: `user${n % 100}` }))
    await copy('users', 10)
    await insert('users', LATE, (n) => ({ up: `o${n}`, own: 'late' }), 'late')
    await insert('tasks', PROJECTS, (n) => ({ up: `o${n}`, own: 'x', count: n }))
    await copy('tasks', TASKS / PROJECTS)
    await raw.query('analyze')
  })
  after(async () => {
    for (const store of stores) await store.close()
    await schema.remove()
  })

  function opening() {
    return { resources: RELATED, now: () => new Date(), indexFields: INDEXED }
  }

  /** The ids of a second reading, the milliseconds of it, and the blocks of tables and indexes that both read. */
  async function read(inOrderMs: number, query = QUERY, sortedSoon = READ_BOUNDS.sortedSoon) {
    const reads = { ...READ_BOUNDS, listMs: 120_000, inOrderMs, sortedSoon }
    const [connections, blocks] = [await connected(), await blocksRead()]
    const { store } = await openPostgres({ ...opening(), url: schema.url, reads })
    await store.list('tasks', query)
    const began = performance.now()
    const page = await store.list('tasks', query)
    const ms = performance.now() - began
    await store.close()
    // A connection counts what it has read at its end.
    await until(async () => (await connected()) <= connections)
    return { ids: page.map(({ id }) => id), ms, blocks: (await blocksRead()) - blocks }
  }

  async function connected(): Promise<number> {
    const { rows } = await raw.query("select count(*)::int from pg_stat_activity where backend_type = 'client backend'")
    return rows[0].count
  }

  async function blocksRead(): Promise<number> {
    const { rows } = await raw.query(`select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int
      from pg_statio_user_tables where schemaname = current_schema()`)
    return rows[0].sum
  }

  it('is read another way when that order takes long, and has the same objects', async () => {
    const [inOrder, otherwise] = [await read(120_000), await read(10)]
    expect(otherwise.ids).to.have.length(50)
    expect(otherwise.ids).to.deep.equal(inOrder.ids)
    expect(otherwise.blocks).to.be.below(inOrder.blocks / 2)
  })

  it('has the order for longer where the other way would have very many objects to sort', async () => {
    const [soon, large] = [await read(20), await read(20, QUERY, TASKS / 2)]
    expect(large.ids).to.deep.equal(soon.ids)
    expect(large.ms, `${soon.ms} for few`).to.be.at.least(20 + 4 * 20)
  })

  it('is read another way row by row, too, when a document is larger than its share of a page', async () => {
    const large = { ...QUERY, bytes: 50 * 30 }
    const [inOrder, otherwise] = [await read(120_000, large), await read(10, large)]
    expect(otherwise.ids).to.have.length.within(5, 49)
    expect(otherwise.ids).to.deep.equal(inOrder.ids)
    expect(otherwise.blocks).to.be.below(inOrder.blocks / 2)
  })

  it('still ends at its bound', async () => {
    const reads = { ...READ_BOUNDS, listMs: 1, inOrderMs: 1 }
    const { store } = await openPostgres({ ...opening(), url: schema.url, reads })
    stores.push(store)
    expect(await failure(store.list('tasks', QUERY))).to.be.instanceOf(ReadTooLong)
  })
})
