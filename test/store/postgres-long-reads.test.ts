/** Long reads on PostgreSQL end at their bound, and soon after their client is gone; they leave connections to others. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type pg from 'pg'
import type { Condition, Lookup } from '../../src/decide/conditions/condition.ts'
import type { ConnectionSettings, ReadBy } from '../../src/store/contract.ts'
import { ReadTooLong, TooManyReads } from '../../src/store/errors.ts'
import { READ_BOUNDS, type ReadBounds } from '../../src/store/lists/read-bounds.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { soak } from '../runs.ts'
import { until } from '../until.ts'
import { failure, type Opened, RESOURCES } from './fixture.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'

const OBJECTS = 5000
const ANY: Condition = { kind: 'always' }

/** For each object it looks at each of them: minutes, whichever way it is planned. */
const ENDLESS: Condition = {
  kind: 'related',
  field: 'tags',
  resource: 'things',
  by: 'extra',
  where: ANY,
}

const LOOKUP: Lookup = {
  resource: 'things',
  by: 'id',
  values: ['t1'],
  where: { kind: 'related', field: 'id', resource: 'things', by: 'id', where: ANY },
}

const by = (whose: string, gone = new AbortController().signal): ReadBy => ({ whose, gone: () => gone })

for (const pooler of soak(['none'] as const, ['transaction'] as const)) {
  describe(`long reads of PostgreSQL, with a pooler: ${pooler}`, () => {
    const settings: ConnectionSettings = { most: 7, pooler }
    let schema: TestSchema
    let raw: pg.Client
    const opened: Opened[] = []
    before(async () => {
      schema = await createSchema()
      raw = await schema.raw()
      const { seeding } = await open(READ_BOUNDS)
      const texts = (word: string) => Array.from({ length: 40 }, (_, n) => `${word}${n}`)
      const [tags, extra] = [texts('tag'), texts('other')]
      const objects = Array.from({ length: OBJECTS }, (_, n) => ({ id: `t${n}`, document: { price: n, tags, extra } }))
      // A busy server takes long for all of them at once.
      for (let at = 0; at < OBJECTS; at += 20) await seeding.insert('things', objects.slice(at, at + 20))
    })
    after(async () => {
      for (const { store } of opened) await store.close()
      await schema.remove()
    })

    async function open(reads: ReadBounds): Promise<Opened> {
      const one = await openPostgres({
        url: schema.url,
        resources: RESOURCES,
        now: () => new Date(),
        connections: settings,
        reads,
      })
      opened.push(one)
      return one
    }

    /** The statements of lists that run in the database. */
    async function running(): Promise<number> {
      const { rows } = await raw.query(
        `select count(*)::int as n from pg_stat_activity where state = 'active' and query like '%"objects_things"%'
           and pid <> pg_backend_pid()`,
      )
      return rows[0].n
    }

    async function untilNoneRuns(): Promise<void> {
      await until(async () => (await running()) === 0)
    }

    it('end at their bound, in the database too: a list fails, and a count is a lower bound', async () => {
      const { store } = await open({ ...READ_BOUNDS, listMs: 300, countMs: 300 })
      expect(await failure(store.list('things', { where: ENDLESS, limit: 1 }, by('a')))).to.be.instanceOf(ReadTooLong)
      expect(await store.count('things', { where: ENDLESS }, by('a'))).to.deep.equal({ found: 0, isExact: false })
      await untilNoneRuns()
      expect(await store.count('things', { where: ANY })).to.deep.equal({ found: OBJECTS, isExact: true })
    })

    it('are cancelled when their client is gone', async () => {
      const { store } = await open({ ...READ_BOUNDS, listMs: 60_000, countMs: 60_000 })
      const client = new AbortController()
      const counted = failure(store.count('things', { where: ENDLESS }, by('a', client.signal)))
      while ((await running()) === 0) await sleep(20)
      client.abort(new Error('gone'))
      expect(await counted).to.have.property('message', 'gone')
      await untilNoneRuns()
      expect(await store.count('things', { where: ANY }, by('a'))).to.deep.equal({ found: OBJECTS, isExact: true })
    })

    it('of one caller wait for their turn, so those of others are answered, however many it has', async () => {
      const { store } = await open({ ...READ_BOUNDS, countMs: 200 })
      const left = new Set(Array.from({ length: 40 }, (_, n) => n))
      const flood = [...left].map(async (n) => {
        await store.count('things', { where: ENDLESS }, by('a'))
        left.delete(n)
      })
      expect(await store.count('things', { where: ANY }, by('b'))).to.include({ isExact: true })
      expect(await store.lookup(LOOKUP, 'c')).to.equal(true)
      expect(left.size).to.be.above(20)
      await Promise.all(flood)
    })

    it('of one caller have at most half of the connections, so those of others are left', async () => {
      const { store } = await open({ ...READ_BOUNDS, listMs: 60_000, countMs: 60_000 })
      const client = new AbortController()
      const read = () => failure(store.count('things', { where: ENDLESS }, by('a', client.signal)))
      const three = [read(), read(), read()]
      expect(await Promise.race(three)).to.be.instanceOf(TooManyReads)
      expect(await store.count('things', { where: ANY }, by('b'))).to.include({ isExact: true })
      client.abort(new Error('gone'))
      const messages = (await Promise.all(three)).map((error) => (error as Error).message)
      expect(messages.filter((message) => message === 'gone')).to.have.length(2)
      await untilNoneRuns()
    })
  })
}
