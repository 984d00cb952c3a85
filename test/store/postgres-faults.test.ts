/** A PostgreSQL that is killed, stalls or can't be reached: nothing acknowledged is lost, and refusals end by themselves. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { ReplayTaken, StoreUnavailable } from '../../src/store/errors.ts'
import { DEFAULT_SETTINGS } from '../../src/store/postgres/connections/client-options.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { type PostgresServer, startPostgres } from '../postgres.ts'
import { startTcpProxy, type TcpProxy } from '../tcp-proxy.ts'
import { until } from '../until.ts'
import { creation, failure, type Opened, RESOURCES } from './fixture.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'

const now = () => new Date()
/** A lost database is noticed within a second; a loaded machine takes longer. */
const WITHIN_MS = 1900
/** A write has waited so long that somebody asked whether the server answers. */
const UNDECIDED_MS = 2200
/** In flight: up to 1.6 s until somebody asks, and 0.9 s for the answer. Without that, a write waits for 8 s, a list 10. */
const PATIENCE_MS = 5000

describe('a PostgreSQL that is killed', () => {
  const servers: PostgresServer[] = []
  after(async () => {
    for (const server of servers) await server.remove()
  })

  /** Writers write while the server is killed and started again. Returns the acknowledged writes, and those found after. */
  async function killUnderLoad(settings: readonly string[]): Promise<{ acknowledged: string[]; found: Set<string> }> {
    const server = await startPostgres({ settings })
    servers.push(server)
    const instances = await Promise.all([1, 2].map(() => openPostgres({ url: server.url, resources: RESOURCES, now })))
    // A server that may lose commits must not lose its tables, as PostgreSQL 18 does.
    const client = new pg.Client(server.url)
    await client.connect()
    await client.query('checkpoint')
    await client.end()
    const acknowledged: string[] = []
    let writing = true
    const writers = instances.flatMap(({ store }, at) =>
      Array.from({ length: 8 }, async (_, writer) => {
        for (let n = 0; writing; n += 1) {
          const id = `${at}-${writer}-${n}`
          const error = await store.create(creation(id, {}), { record: id }).then(
            () => acknowledged.push(id) && undefined,
            (cause: unknown) => cause,
          )
          if (error) {
            expect(error).to.be.instanceOf(StoreUnavailable)
            await sleep(20)
          }
        }
      }),
    )
    await sleep(400)
    await server.kill()
    await sleep(100)
    await server.start()
    const before = acknowledged.length
    await until(() => acknowledged.length > before + 20)
    writing = false
    await Promise.all(writers)
    const [{ store, outbox } = instances[0] as Opened] = instances
    const found = new Set<string>()
    for (const id of acknowledged) if (await store.get('things', id)) found.add(id)
    const records = new Set((await outbox.waiting(1_000_000)).map(({ record }) => record))
    for (const id of found) expect(records.has(id), `the record of ${id}`).to.equal(true)
    for (const one of instances) await one.store.close()
    return { acknowledged, found }
  }

  it('keeps every acknowledged write with its record, and instances go on by themselves', async () => {
    const { acknowledged, found } = await killUnderLoad([])
    expect(acknowledged.length).to.be.greaterThan(50)
    expect(acknowledged.filter((id) => !found.has(id))).to.deep.equal([])
  })

  it('would lose writes that are acknowledged before they are on disk', async () => {
    const early = ['synchronous_commit=off', 'wal_writer_delay=10s', 'wal_writer_flush_after=1GB', 'wal_buffers=16MB']
    const { acknowledged, found } = await killUnderLoad(early)
    expect(acknowledged.filter((id) => !found.has(id)).length).to.be.greaterThan(0)
  })
})

describe('a PostgreSQL behind a network that fails', () => {
  let schema: TestSchema
  let proxy: TcpProxy
  let opened: Opened

  beforeEach(async () => {
    schema = await createSchema()
    proxy = await startTcpProxy(Number(new URL(schema.url).port))
    const url = new URL(schema.url)
    url.port = String(proxy.port)
    opened = await openPostgres({ url: String(url), resources: RESOURCES, now })
    await opened.store.create(creation('a', {}))
  })
  afterEach(async () => {
    proxy.resume()
    await opened.store.close()
    await proxy.close()
    await schema.remove()
  })

  async function refusesSoon(work: () => Promise<unknown>): Promise<void> {
    const since = performance.now()
    expect(await failure(work())).to.be.instanceOf(StoreUnavailable)
    expect(performance.now() - since).to.be.below(WITHIN_MS)
  }

  async function answersAgain(): Promise<void> {
    await until(async () => {
      const reads = [opened.store.get('things', 'a'), opened.store.ping()]
      return (await Promise.allSettled(reads)).every(({ status }) => status === 'fulfilled')
    })
    await opened.store.create(creation(`after ${performance.now()}`, {}))
  }

  it('refuses look-ups and says that it is not ready within a second, while the connections stall', async () => {
    proxy.stall()
    await Promise.all([
      refusesSoon(async () => opened.store.get('things', 'a')),
      refusesSoon(async () => opened.directory.accountStatus('alice')),
      refusesSoon(() => opened.store.ping()),
    ])
    // New connections stall too.
    await sleep(100)
    await refusesSoon(async () => opened.store.get('things', 'a'))
    proxy.resume()
    await answersAgain()
  })

  it('refuses a write that waits for its answer when the server answers nobody, and no other one', async () => {
    const direct = await schema.raw()
    await direct.query('begin; update turns set taken = taken')
    const [first, slow] = [performance.now(), opened.store.create(creation('slow', {}))]
    await sleep(UNDECIDED_MS)
    await direct.query('commit')
    await slow
    expect(performance.now() - first, 'it waited for the write lock').to.be.least(UNDECIDED_MS)
    await direct.query('begin; update turns set taken = taken')
    const [since, write] = [performance.now(), failure(opened.store.create(creation('b', {})))]
    await sleep(50)
    proxy.stall()
    expect(await write).to.be.instanceOf(StoreUnavailable)
    expect(performance.now() - since).to.be.below(PATIENCE_MS)
    await direct.query('rollback')
    proxy.resume()
    await answersAgain()
  })

  it('refuses a list that waits for its answer when the server answers nobody', async () => {
    const list = () => opened.store.list('things', { where: { kind: 'always' }, limit: 10 })
    await list()
    const direct = await schema.raw()
    await direct.query('begin; lock table objects_things')
    const [since, refused] = [performance.now(), failure(list())]
    await sleep(50)
    proxy.stall()
    expect(await refused).to.be.instanceOf(StoreUnavailable)
    expect(performance.now() - since).to.be.below(PATIENCE_MS)
    await direct.query('rollback')
    proxy.resume()
    await answersAgain()
    expect(await list()).to.have.length.above(0)
  })

  it('would wait for an answer as long as the network does', async () => {
    const direct = await schema.raw()
    proxy.stall()
    const asked = (async () => opened.store.get('things', 'a'))().then(
      () => 'answered',
      () => 'refused',
    )
    expect((await direct.query('select 1 as one')).rows).to.deep.equal([{ one: 1 }])
    expect(await Promise.race([asked, sleep(300, 'waits')])).to.equal('waits')
    expect(await asked).to.equal('refused')
  })

  it('refuses a small change whose connection ends behind a pooler, and goes on', async () => {
    const url = new URL(schema.url)
    url.port = String(proxy.port)
    const connections = { ...DEFAULT_SETTINGS, pooler: 'transaction' } as const
    const pooled = await openPostgres({ url: String(url), resources: RESOURCES, now, connections })
    proxy.holdAnswers()
    const refused = failure(pooled.outbox.shipped(1))
    await sleep(50)
    proxy.cut()
    expect(await refused).to.be.instanceOf(StoreUnavailable)
    proxy.resume()
    await until(() =>
      pooled.outbox.shipped(1).then(
        () => true,
        () => false,
      ),
    )
    await pooled.store.close()
  })

  it('refuses at once when connections end, and goes on with new ones', async () => {
    proxy.cut()
    await sleep(20)
    await answersAgain()
    await proxy.close()
    await refusesSoon(async () => opened.store.get('things', 'a'))
    await refusesSoon(() => opened.store.create(creation('b', {})))
    await refusesSoon(() => opened.store.ping())
    proxy = await startTcpProxy(Number(new URL(schema.url).port))
  })

  it('says StoreUnavailable of a write that may have been committed; its idempotency key tells when it is repeated', async () => {
    const replay = { subject: 'ann', route: '/things', key: 'k', fingerprint: 'f' }
    proxy.holdAnswers()
    const unknown = failure(opened.store.create(creation('b', {}), { replay, record: 'b' }))
    await until(async () => (await (await schema.raw()).query(`select 1 from replays`)).rows.length === 1)
    proxy.cut()
    expect(await unknown).to.be.instanceOf(StoreUnavailable)
    proxy.resume()
    await answersAgain()
    expect(await failure(opened.store.create(creation('c', {}), { replay }))).to.be.instanceOf(ReplayTaken)
    expect((await opened.store.kept(replay))?.object.id).to.equal('b')
    expect((await opened.outbox.waiting(10)).map(({ record }) => record)).to.deep.equal(['b'])
  })

  it('says why it can not be opened, whatever the number of addresses', async () => {
    for (const host of ['localhost', '127.0.0.1']) {
      const error = await failure(openPostgres({ url: `postgres://me@${host}:1/x`, resources: RESOURCES, now }))
      expect(error).to.be.instanceOf(StoreUnavailable)
      expect(((error as Error).cause as Error).message).to.include('ECONNREFUSED')
    }
  })

  it('opens no more connections than it may', async () => {
    const work = Array.from({ length: 40 }, (_, n) => [
      opened.store.get('things', 'a'),
      opened.store.list('things', { where: { kind: 'always' }, limit: 10 }),
      opened.store.create(creation(`busy ${n}`, {})),
      opened.directory.disable(`user ${n}`),
      opened.store.ping(),
    ])
    await Promise.all(work.flat())
    const text = "select count(*)::int as count from pg_stat_activity where application_name = 'sallyport'"
    const { rows } = await (await schema.raw()).query(text)
    expect(rows[0]?.count).to.be.within(2, DEFAULT_SETTINGS.most)
  })

  it('loses the write lock when it stalls, and others write', async () => {
    const other = await schema.open({ resources: RESOURCES, now })
    const stalled = await schema.raw()
    stalled.on('error', () => undefined)
    await stalled.query(
      'begin; set local idle_in_transaction_session_timeout = 1000; update turns set taken = taken + 1',
    )
    await other.store.create(creation('b', {}))
    expect((await other.store.get('things', 'b'))?.id).to.equal('b')
  })
})
