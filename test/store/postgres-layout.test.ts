/** A database of PostgreSQL whose resources changed, or that is of another kind than this program needs. */

import { expect } from 'chai'
import pg from 'pg'
import type { Condition } from '../../src/decide/conditions/condition.ts'
import type { Document } from '../../src/resources/object.ts'
import type { Field } from '../../src/resources/resource.ts'
import type { Store } from '../../src/store/contract.ts'
import { UnfitDatabase, UniqueTaken } from '../../src/store/errors.ts'
import { openPostgres, openPostgresBeside } from '../../src/store/postgres/open.ts'
import { sharedPostgres } from '../postgres.ts'
import { holds } from './conditions.ts'
import { ALL } from './engine.ts'
import { creation, failure, field, RESOURCES, resource, resourcesOf } from './fixture.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'

const now = () => new Date()

describe('a PostgreSQL whose resources changed', () => {
  let schema: TestSchema
  beforeEach(async () => {
    schema = await createSchema()
  })
  afterEach(() => schema.remove())

  /** Opened with one resource `items` that has these fields, and the objects written. */
  async function reopen(fields: readonly Field[], documents: readonly Document[] = []): Promise<Store> {
    const { store, seeding } = await schema.open({ resources: resourcesOf(resource('items', fields)), now })
    const first = await seeding.count('items')
    await seeding.insert(
      'items',
      documents.map((document, index) => ({ id: `t${first + index}`, document })),
    )
    return store
  }

  const listed = async (store: Store, where: Condition) =>
    (await store.list('items', { ...ALL, where })).map(({ id }) => id)

  it('finds old objects by a field that is indexed from now on', async () => {
    await reopen([field('a', 'string')], [{ a: 'x' }, { a: 'y' }])
    expect(await listed(await reopen([field('a', 'string', { indexed: true })]), holds('a', 'y'))).to.deep.equal(['t1'])
  })

  it('holds old objects and new ones to a field that is unique from now on', async () => {
    await reopen([field('a', 'string', { indexed: true })], [{ a: 'x' }, {}, {}])
    const store = await reopen([field('a', 'string', { unique: true })])
    expect(await failure(store.create(creation('new', { a: 'x' }, 'items')))).to.be.instanceOf(UniqueTaken)
  })

  it('refuses to open with a unique field whose values are not, says which, and changes nothing', async () => {
    await reopen([field('a', 'string')], [{ a: 'x' }, { a: 'x' }])
    const before = await indexes()
    const error = await failure(
      reopen([field('b', 'string', { indexed: true }), field('a', 'string', { unique: true })]),
    )
    expect(error).to.be.instanceOf(UnfitDatabase)
    expect((error as Error).message).to.contain('`a` of `items` is declared unique')
    expect(await indexes()).to.deep.equal(before)
    expect(await listed(await reopen([field('a', 'string')]), holds('a', 'x'))).to.have.length(2)
  })

  it('lets values repeat in a field that is no longer unique', async () => {
    await reopen([field('a', 'string', { unique: true })], [{ a: 'x' }])
    const store = await reopen([field('a', 'string')])
    await store.create(creation('new', { a: 'x' }, 'items'))
  })

  it('counts the elements of a list that is from before its field was a scalar', async () => {
    await reopen([field('a', 'string', { list: true })], [{ a: ['x', 'y'] }, { a: 'x' }, {}])
    const store = await reopen([field('a', 'string', { indexed: true })])
    expect(await listed(store, holds('a', 'x'))).to.deep.equal(['t0', 't1'])
    expect(await listed(store, { kind: 'not', of: holds('a', 'y') })).to.deep.equal(['t1', 't2'])
  })

  it('takes field names that differ by a capital, or look like columns or SQL, for different', async () => {
    const names = ['a', 'A', 'version', 'keys', 'a.b', 'a as b', '', 'é', '😀', 'a"b', "a'b", '$1', '?', 'x'.repeat(99)]
    const fields = names.map((name) => field(name, 'string', { indexed: true }))
    const store = await reopen(
      fields,
      names.map((name) => ({ [name]: 'x' })),
    )
    for (const [index, name] of names.entries()) {
      expect(await listed(store, holds(name, 'x'))).to.deep.equal([`t${index}`])
    }
  })

  it('can be opened by several instances at once when it is new', async () => {
    const opened = await Promise.all([1, 2, 3, 4].map(() => schema.open({ resources: RESOURCES, now })))
    await Promise.all(opened.map(({ store }, at) => store.create(creation(`t${at}`, {}))))
    expect(await opened[0]?.store.list('things', ALL)).to.have.length(4)
  })

  it('is worked on beside a server only after a server made it fit', async () => {
    const users = resourcesOf(resource('people', [field('email', 'string', { unique: true })]))
    const beside = () => openPostgresBeside({ url: schema.url, resources: users, now })
    expect(await failure(beside()))
      .to.have.property('message')
      .that.contains('start the server once')
    await schema.open({ resources: resourcesOf(resource('people', [field('email', 'string')])), now })
    expect(await failure(beside())).to.be.instanceOf(UnfitDatabase)
    await schema.open({ resources: users, now })
    const { store, directory } = await beside()
    await directory.disable('alice')
    expect((await directory.accountStatus('alice')).disabled).to.equal(true)
    await store.close()
  })

  it('is refused when it is of a later version of the program', async () => {
    await schema.open({ resources: RESOURCES, now })
    await (await schema.raw()).query('update layout set number = 99')
    for (const opening of [openPostgres, openPostgresBeside]) {
      const error = await failure(opening({ url: schema.url, resources: RESOURCES, now }))
      expect(error).to.be.instanceOf(UnfitDatabase)
      expect((error as Error).message).to.contain('layout 99')
    }
  })

  it('finds long texts that the first layout marked in another way', async () => {
    const unique = [field('a', 'string', { unique: true }), field('b', 'string', { indexed: true })]
    const long = `"\u0001\\u0001\u0004${'x'.repeat(699)}é`
    await reopen(unique, [{ a: long, b: '\\u0001\u0004' }, { a: `${long}!` }])
    const raw = await schema.raw()
    const text = String.raw`update objects_items set keys = replace(keys::text, U&'\+10ffff', '\u0001\u0004')::jsonb`
    expect((await raw.query(text)).rowCount).to.equal(2)
    await raw.query('update layout set number = 1')
    const find = async (store: Store, value: string) => listed(store, holds('a', value))
    const store = await reopen(unique)
    expect(await find(store, long)).to.deep.equal(['t0'])
    expect(await find(store, `${long}!`)).to.deep.equal(['t1'])
    expect(await listed(store, holds('b', '\\u0001\u0004'))).to.deep.equal(['t0'])
    expect(await failure(store.create(creation('new', { a: long }, 'items')))).to.be.instanceOf(UniqueTaken)
    // Without the change of the keys, the text would be another one.
    await raw.query(text)
    expect(await find(await reopen(unique), long)).to.deep.equal([])
  })

  async function indexes(): Promise<readonly string[]> {
    const text = 'select indexname from pg_indexes where schemaname = current_schema() order by 1'
    return (await (await schema.raw()).query(text)).rows.map(({ indexname }) => String(indexname))
  }
})

describe('a PostgreSQL that was created for something else', () => {
  const made: string[] = []
  after(async () => {
    for (const name of made) await run(`drop database ${name}`)
  })

  async function run(text: string, url?: string): Promise<unknown[]> {
    const client = new pg.Client({ connectionString: url ?? (await sharedPostgres()).url })
    await client.connect()
    const { rows } = await client.query(text)
    await client.end()
    return rows
  }

  async function create(name: string, options: string): Promise<string> {
    await run(`create database ${name} template template0 ${options}`)
    made.push(name)
    return (await sharedPostgres()).url.replace(/postgres$/, name)
  }

  async function open(name: string, options: string) {
    const url = await create(name, options)
    return openPostgres({ url, resources: RESOURCES, now })
  }

  it('orders texts by code points also with another locale', async () => {
    const { store, seeding } = await open('of_germany', `locale_provider icu icu_locale 'de-DE' encoding 'UTF8'`)
    const texts = ['a', 'B', 'ä', 'z', 'Z', 'é', '\uffff', '😀', '-', 'ab', 'a b']
    await seeding.insert(
      'things',
      texts.map((text) => ({ id: text, document: { status: text, price: text } })),
    )
    const ordered = texts.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
    for (const name of ['id', 'status', 'price']) {
      const order = [
        { field: name, by: 'value', descending: false },
        { field: 'id', by: 'value', descending: false },
      ] as const
      expect((await store.list('things', { ...ALL, order })).map(({ id }) => id)).to.deep.equal(ordered)
      const next = await store.list('things', { ...ALL, order, after: ['B', 'B'] })
      expect(next.map(({ id }) => id)).to.deep.equal(ordered.slice(ordered.indexOf('B') + 1))
    }
    await store.close()
  })

  it('is refused with another encoding than UTF8', async () => {
    const error = await failure(open('of_ascii', `encoding 'SQL_ASCII' locale 'C'`))
    expect(error).to.be.instanceOf(UnfitDatabase)
    expect((error as Error).message).to.contain('SQL_ASCII')
  })

  it('is refused when another program has tables of the same names, and stays as it was', async () => {
    for (const table of ['layout', 'sessions']) {
      const url = await create(`of_another_${table}`, `encoding 'UTF8'`)
      await run(`create table ${table} (other text)`, url)
      const error = await failure(openPostgres({ url, resources: RESOURCES, now }))
      expect(error).to.be.instanceOf(UnfitDatabase)
      expect((error as Error).message).to.contain('another program has a table of the same name')
      const tables = await run(`select table_name from information_schema.tables where table_schema = 'public'`, url)
      expect(tables).to.deep.equal([{ table_name: table }])
    }
  })
})
