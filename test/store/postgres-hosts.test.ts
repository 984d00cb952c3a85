/** A URL with several hosts: connections go to the host that takes writes, and after a failover to the new one. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { type PolicyVersions, policyVersionsIn } from '../../src/store/policy-versions.ts'
import { DEFAULT_SETTINGS, dialerOf } from '../../src/store/postgres/connections/client-options.ts'
import { fixOfServer } from '../../src/store/postgres/connections/fix-of-server.ts'
import { openPostgres, postgres } from '../../src/store/postgres/open.ts'
import { examinePostgres } from '../../src/store/postgres/reader/examine.ts'
import { type PostgresServer, startPostgres } from '../postgres.ts'
import { freePort } from '../redis.ts'
import { startTcpProxy, type TcpProxy } from '../tcp-proxy.ts'
import { until } from '../until.ts'
import { creation, failure, type Opened, RESOURCES } from './fixture.ts'

const now = () => new Date()

function urlOf(ports: readonly number[], parameters = 'target_session_attrs=read-write'): string {
  return `postgres://sallyport@${ports.map((port) => `127.0.0.1:${port}`).join()}/postgres?${parameters}`
}

const open = (url: string) => openPostgres({ url, resources: RESOURCES, now })

async function tell(port: number, ...texts: readonly string[]): Promise<string> {
  const client = new pg.Client({ connectionString: urlOf([port], '') })
  await client.connect()
  let answer = ''
  for (const text of texts) answer = String((await client.query({ text, rowMode: 'array' })).rows[0]?.[0])
  await client.end()
  return answer
}

/** The connections of instances to a server. */
async function connectionsTo(port: number): Promise<number> {
  return Number(await tell(port, "select count(*) from pg_stat_activity where application_name = 'sallyport'"))
}

const succeeds = (work: () => Promise<unknown>) =>
  work().then(
    () => true,
    () => false,
  )

interface Pair {
  first: PostgresServer
  second: PostgresServer
}

const opened: Opened[] = []

async function openStore(url: string): Promise<Opened> {
  const one = await open(url)
  opened.push(one)
  return one
}

async function closeStores(): Promise<void> {
  for (const { store } of opened.splice(0)) await store.close()
}

/** Two servers for the tests of a block, the second a replica of the first. Closes the stores before it removes them. */
function usePair(): Pair {
  const pair: Partial<Pair> = {}
  before(async () => {
    pair.first = await startPostgres()
    pair.second = await startPostgres({ replicaOf: pair.first })
  })
  after(async () => {
    await closeStores()
    await pair.second?.remove()
    await pair.first?.remove()
  })
  return pair as Pair
}

/** Whatever the instance asks, on each kind of its connections. */
async function answers({ store, directory, outbox }: Opened, id: string): Promise<void> {
  await until(() => succeeds(async () => store.create(creation(id, {}))))
  await until(() => succeeds(async () => store.get('things', id)))
  await until(() => succeeds(() => store.list('things', { where: { kind: 'always' }, limit: 10 })))
  await until(() => succeeds(() => directory.disable(`user ${id}`)))
  await until(() => succeeds(() => outbox.shipped(1)))
}

describe('a PostgreSQL with several hosts', () => {
  const pair = usePair()
  let dead: number
  before(async () => {
    dead = await freePort()
  })
  afterEach(closeStores)

  it('is used on the host that takes writes, wherever it stands, beside hosts that refuse or never answer', async () => {
    const silent = await startTcpProxy(pair.second.port)
    silent.stall()
    for (const target of ['read-write', 'primary']) {
      const ports = [dead, silent.port, pair.second.port, pair.first.port]
      const one = await openStore(urlOf(ports, `target_session_attrs=${target}`))
      await answers(one, target)
      await one.store.close()
    }
    await silent.close()
    expect(await connectionsTo(pair.second.port)).to.equal(0)
  })

  it('would be used on a replica, and refuse each write, if any host were taken', async () => {
    const error = await failure(open(urlOf([pair.second.port, dead], 'target_session_attrs=any')))
    expect(error).to.be.instanceOf(StoreUnavailable)
    expect(String((error as Error).cause)).to.include('read-only transaction')
  })

  it('is refused with one sentence about each host where none takes writes, with the command that looks at them', async () => {
    const url = urlOf([dead, pair.second.port])
    const error = await failure(open(url))
    expect(error).to.be.instanceOf(StoreUnavailable)
    const { why, cause } = error as StoreUnavailable
    const replica = 'it takes no writes: it is a replica, or read-only'
    expect(why).to.equal(
      `no host takes writes (127.0.0.1:${dead}: connect ECONNREFUSED 127.0.0.1:${dead}; 127.0.0.1:${pair.second.port}: ${replica})`,
    )
    expect(fixOfServer(url, cause)).to.equal('sudo systemctl start postgresql')
    const alone = urlOf([pair.second.port])
    const one = (await failure(open(alone))) as StoreUnavailable
    expect(one.why).to.equal(replica)
    expect(fixOfServer(alone, one.cause)).to.include('@<primary>:')
    const any = urlOf([pair.second.port, dead], 'target_session_attrs=any')
    expect(fixOfServer(any, { code: '25006' })).to.include(
      `@127.0.0.1:${pair.second.port},127.0.0.1:${dead}/postgres?target_session_attrs=read-write'`,
    )
  })

  it('is said by doctor to lose writes in a failover, until commits wait for a replica', async () => {
    const faultsOf = async (ports: readonly number[]) => {
      const { checks } = await examinePostgres(urlOf(ports), { connections: DEFAULT_SETTINGS, processes: 1 })
      return checks.filter(({ state }) => state !== 'ok').map(({ message }) => message)
    }
    expect(await faultsOf([pair.first.port])).to.deep.equal([])
    expect(String(await faultsOf([pair.second.port, pair.first.port]))).to.match(
      /^no commit waits for a replica .* lose/,
    )
    await tell(pair.first.port, "alter system set synchronous_standby_names = '*'", 'select pg_reload_conf()')
    await until(async () => (await faultsOf([pair.second.port, pair.first.port])).length === 0)
  })

  it('gets the password that the passfile has for its host', async () => {
    const rules = join(pair.first.directory, 'data/pg_hba.conf')
    await tell(pair.first.port, "create role keeper login password 'word'")
    writeFileSync(rules, `host all keeper 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`)
    await tell(pair.first.port, 'select pg_reload_conf()')
    const passwords = join(pair.first.directory, 'passwords')
    const dial = (ports: readonly number[]) => {
      const url = urlOf(ports).replace('sallyport@', 'keeper@')
      return dialerOf(url, DEFAULT_SETTINGS).open()
    }
    const former = process.env.PGPASSFILE
    process.env.PGPASSFILE = passwords
    try {
      for (const isRight of [true, false]) {
        const [own, other] = isRight ? ['word', 'other'] : ['other', 'word']
        writeFileSync(passwords, `127.0.0.1:${pair.first.port}:*:keeper:${own}\n127.0.0.1:${dead}:*:keeper:${other}\n`)
        chmodSync(passwords, 0o600)
        const client = await dial([dead, pair.first.port]).catch((error: Error) => error)
        if (client instanceof Error) expect(client.message).to.include('password authentication failed')
        else await client.end()
        expect(client instanceof Error).to.equal(!isRight)
      }
    } finally {
      if (former === undefined) delete process.env.PGPASSFILE
      else process.env.PGPASSFILE = former
    }
  })
})

describe('a new primary after the former one was killed', () => {
  let dead: number
  let network: TcpProxy
  let instances: readonly Opened[]
  let versions: PolicyVersions
  // Before the servers are removed.
  after(async () => {
    await closeStores()
    await versions.close()
    await network.close()
  })
  const pair = usePair()
  before(async () => {
    dead = await freePort()
    network = await startTcpProxy(pair.second.port)
    const url = urlOf([pair.first.port, network.port])
    instances = [await openStore(url), await openStore(urlOf([dead, network.port, pair.first.port]))]
    versions = await policyVersionsIn(await postgres.openInstances(url, 'versions'))
    await versions.last()
    for (const [at, instance] of instances.entries()) await answers(instance, `before ${at}`)
    await pair.first.kill()
    await tell(pair.second.port, 'select pg_promote()')
  })

  it('is where instances go on, on every kind of connection', async () => {
    for (const [at, instance] of instances.entries()) await answers(instance, `after ${at}`)
    await until(() => succeeds(() => versions.last()))
  })

  it('is never left for the former one that runs on beside it; who starts anew can not tell them apart', async () => {
    const ports = [pair.first.port, network.port]
    const instance = instances[0] as Opened
    await answers(instance, 'there')
    await pair.first.start()
    network.stall()
    network.cut()
    let said = ''
    await until(async () => {
      const error = await failure(
        Promise.resolve().then(() => instance.store.list('things', { where: { kind: 'always' }, limit: 1 })),
      )
      said = String((error as StoreUnavailable).cause)
      return said.includes('old primary')
    })
    expect(await connectionsTo(pair.first.port)).to.equal(0)
    const anew = await dialerOf(urlOf(ports.toReversed()), DEFAULT_SETTINGS).open()
    expect(anew.port).to.equal(pair.first.port)
    await anew.end()
    network.resume()
    await answers(instance, 'again')
  })
})

describe('a primary that became read-only', () => {
  const pair = usePair()

  it('is left with the first write that it refuses, on all connections', async () => {
    const instance = await openStore(urlOf([pair.first.port, pair.second.port]))
    const unasked = await openStore(urlOf([pair.first.port], ''))
    await answers(instance, 'before')
    expect(await connectionsTo(pair.first.port)).to.be.greaterThan(2)
    await tell(pair.first.port, 'alter system set default_transaction_read_only = on', 'select pg_reload_conf()')
    await until(async () => (await tell(pair.first.port, 'show transaction_read_only')) === 'on')
    const isRefused = async ({ store }: Opened) =>
      (await failure(store.create(creation('refused', {})))) instanceof StoreUnavailable
    await until(() => isRefused(unasked))
    // Without target_session_attrs, it would go on to read there.
    expect(await succeeds(async () => unasked.store.get('things', 'before'))).to.equal(true)
    await unasked.store.close()
    await until(() => isRefused(instance))
    await until(async () => (await connectionsTo(pair.first.port)) === 0)
    expect(await succeeds(async () => instance.store.get('things', 'before')), 'a look-up').to.equal(false)
    await tell(pair.second.port, 'select pg_promote()')
    await answers(instance, 'after')
    expect(await connectionsTo(pair.first.port)).to.equal(0)
  })
})
