/** A PostgreSQL whose synchronous replica is away: commits hang, look-ups go on, and no connections pile up. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { policyVersionsIn } from '../../src/store/policy-versions.ts'
import { openPostgres, postgres } from '../../src/store/postgres/open.ts'
import { type PostgresServer, startPostgres } from '../postgres.ts'
import { soak } from '../runs.ts'
import { creation, failure, type Opened, RESOURCES } from './fixture.ts'

/** In transaction mode of a pooler, no session has time-outs. */
const POOLERS = soak(['transaction'] as const, ['none'] as const)

describe('a PostgreSQL whose commits hang', () => {
  let server: PostgresServer
  let direct: pg.Client

  before(async () => {
    server = await startPostgres()
    direct = new pg.Client({ connectionString: server.url })
    await direct.connect()
  })
  after(async () => {
    await direct.end()
    await server.remove()
  })
  afterEach(() => hang(false))

  async function hang(hanging: boolean): Promise<void> {
    await direct.query(`alter system set synchronous_standby_names = '${hanging ? '*' : ''}'`)
    await direct.query('select pg_reload_conf()')
    const is = async () => (await direct.query('show synchronous_standby_names')).rows[0]?.synchronous_standby_names
    while ((await is()) !== (hanging ? '*' : '')) await sleep(20)
    if (hanging) await untilCommitsHang()
  }

  /** Another process of PostgreSQL learns the setting later than the session that sees it. */
  async function untilCommitsHang(): Promise<void> {
    for (let hangs = false; !hangs; ) {
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      const committed = client
        .query("select pg_logical_emit_message(true, 'sallyport', 'test')")
        .then(() => client.end())
      hangs = await Promise.race([committed.then(() => false), sleep(500, true)])
    }
  }

  async function connections(): Promise<number> {
    const text = "select count(*)::int as count from pg_stat_activity where application_name = 'sallyport'"
    return Number((await direct.query(text)).rows[0]?.count)
  }

  for (const pooler of POOLERS) {
    it(`answers look-ups and says that it takes no writes (pooler: ${pooler})`, async () => {
      const settings = { most: 10, pooler }
      const opened: Opened = await openPostgres({
        url: server.url,
        connections: settings,
        resources: RESOURCES,
        now: () => new Date(),
      })
      const { store } = opened
      const id = `of ${pooler}`
      await store.create(creation(id, {}))
      await store.ping()
      await hang(true)
      await sleep(1100)
      for (let n = 0; n < 4; n += 1) {
        expect(await failure(store.ping())).to.be.instanceOf(StoreUnavailable)
        expect((await store.get('things', id))?.id).to.equal(id)
      }
      expect(await connections()).to.be.at.most(settings.most)
      await hang(false)
      const answers = () =>
        store.ping().then(
          () => true,
          () => false,
        )
      while (!(await answers())) await sleep(50)
      await store.close()
    })
  }

  it('gets no connection more for each note that an instance repeats', async () => {
    const versions = await policyVersionsIn(await postgres.openInstances(server.url, 'versions'))
    await versions.note('a', 'before')
    await hang(true)
    // The first one hangs in its commit until it is given up; the others wait for its lock, and end by themselves.
    expect(await failure(versions.note('a', '0'))).to.be.instanceOf(StoreUnavailable)
    const before = await connections()
    for (const state of ['1', '2', '3']) {
      expect(await failure(versions.note('a', state))).to.be.instanceOf(StoreUnavailable)
    }
    expect(await connections()).to.be.at.most(before + 1)
    await hang(false)
    await versions.note('a', 'after')
    await versions.close()
  })
})
