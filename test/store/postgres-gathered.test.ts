/** Look-ups on PostgreSQL that are asked for in the same turn of the event loop share a statement, and nothing else. */
import { expect } from 'chai'
import type { ObjectQuery } from '../../src/store/contract.ts'
import { DamagedObject, StoreUnavailable } from '../../src/store/errors.ts'
import { DEFAULT_SETTINGS } from '../../src/store/postgres/connections/client-options.ts'
import { Connections } from '../../src/store/postgres/connections/connections.ts'
import { ASKED_FOR, askedText } from '../../src/store/postgres/query/condition.ts'
import { countedStatements } from './counted-statements.ts'
import { change, creation, failure, RESOURCES, removal } from './fixture.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'

const now = () => new Date()

describe('look-ups of one turn on PostgreSQL', () => {
  let schema: TestSchema
  beforeEach(async () => {
    schema = await createSchema()
  })
  afterEach(() => schema.remove())

  it('are one statement, and each gets its own answer', async () => {
    const { store } = await schema.open({ resources: RESOURCES, now })
    for (const id of ['a', 'b\0', 'c"\\']) await store.create(creation(id, { id: `of ${id}` }))
    const ids = ['c"\\', 'missing', 'a', 'b\0', 'a', '']
    const [found, statements] = await countedStatements(() => Promise.all(ids.map((id) => store.get('things', id))))
    expect(found.map((object) => object?.id)).to.deep.equal(['c"\\', undefined, 'a', 'b\0', 'a', undefined])
    expect(statements).to.equal(1)
  })

  it('are as many statements as it takes when there are many', async () => {
    const { store } = await schema.open({ resources: RESOURCES, now })
    await store.create(creation('n249', {}))
    const ids = Array.from({ length: 250 }, (_, n) => `n${n}`)
    const [found, statements] = await countedStatements(() => Promise.all(ids.map((id) => store.get('things', id))))
    expect(found.findIndex((object) => object !== undefined)).to.equal(249)
    expect(statements).to.equal(3)
  })

  it('see what was committed before they were asked for, also while the same look-up waits for its answer', async () => {
    const { store } = await schema.open({ resources: RESOURCES, now })
    await store.create(creation('a', { n: 1 }))
    for (let version = 1; version <= 50; version += 1) {
      const early = store.get('things', 'a')
      await store.update(change('a', version, { n: version + 1 }))
      const late = store.get('things', 'a')
      expect((await late)?.version).to.equal(version + 1)
      expect((await early)?.version).to.be.oneOf([version, version + 1])
    }
  })

  it('share no page of more than a mebibyte: each larger page is read by itself, whatever the caller may have', async () => {
    const { store } = await schema.open({ resources: RESOURCES, now })
    const limit = 40
    const query: ObjectQuery = { where: { kind: 'always' }, limit, bytes: 64 * 2 ** 20 }
    // For its share of a mebibyte, a document is just small enough, or too large.
    for (const [length, apart] of [
      [2 ** 20 / limit - 100, 0],
      [2 ** 20 / limit + 100, 3],
    ] as const) {
      for (let n = 0; n < limit; n += 1) await store.create(creation(`${apart}.${n}`, { text: 'x'.repeat(length) }))
      const lists = () => Promise.all(Array.from({ length: 3 }, () => store.list('things', query)))
      const [pages, statements] = await countedStatements(lists)
      expect(pages.map((page) => page.length)).to.deep.equal([limit, limit, limit])
      expect(statements, `${length}`).to.equal(1 + apart)
      for (let n = 0; n < limit; n += 1) await store.delete(removal(`${apart}.${n}`, 1))
    }
  })

  it('fail alone when a document is damaged', async () => {
    const { store } = await schema.open({ resources: RESOURCES, now })
    await store.create(creation('good', {}))
    await store.create(creation('bad', {}))
    const raw = await schema.raw()
    await raw.query(`update "objects_things" set document = '[]' where id = 'bad'`)
    const [bad, good] = await Promise.all([failure(() => store.get('things', 'bad')), store.get('things', 'good')])
    expect(bad).to.be.instanceOf(DamagedObject)
    expect(good?.id).to.equal('good')
  })

  it('fail alone when the server fails at one of them, and all when it fails at all', async () => {
    const connections = new Connections(schema.url, DEFAULT_SETTINGS)
    const divide = (table: string) =>
      connections.gathered(`select nth, 6 / ${askedText(0)}::int from ${ASKED_FOR} ${table}`, (row) => row?.[0])
    const fair = divide('')
    const answers = Promise.all([fair.of('1'), failure(fair.of('0')), fair.of('3'), failure(fair.of('none'))])
    const [six, zero, two, none] = await answers
    expect([six, two]).to.deep.equal([6, 2])
    for (const error of [zero, none]) expect(error).to.be.instanceOf(StoreUnavailable)
    const broken = divide(', no_such_table')
    for (const error of await Promise.all(['1', '2'].map((text) => failure(broken.of(text))))) {
      expect(error).to.be.instanceOf(StoreUnavailable)
    }
    await connections.close()
  })
})
