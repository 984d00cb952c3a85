/** Deliveries against a real receiver by HTTPS, with a real database: in order, at least once, and for three days. */
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { Registry } from 'prom-client'
import { Webhook } from 'standardwebhooks'
import type { Subscription } from '../../src/decide/policy.ts'
import { createLog } from '../../src/server/observe/log.ts'
import { createWebhookMeters } from '../../src/server/webhooks/meters.ts'
import { openOwnStreams } from '../../src/server/webhooks/own-streams.ts'
import { WEBHOOK_SECRET, webhookSecret } from '../../src/server/webhooks/signature.ts'
import { type SentEvents, Webhooks } from '../../src/server/webhooks/webhooks.ts'
import type { OpenedStore } from '../../src/store/contract.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { type HttpCollector, makeCertificate, startHttpCollector } from '../decision-log/send/collectors.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { RESOURCES } from '../store/fixture.ts'
import { until } from '../until.ts'
import { TestStreams } from './streams.ts'

const HOUR_MS = 3_600_000

describe('deliveries of webhooks', () => {
  let folder: string
  let receiver: HttpCollector
  let opened: OpenedStore
  let streams: TestStreams
  let clock: number
  let secret: Uint8Array
  let started: Started[]

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-webhooks-'))
    makeCertificate(folder)
    receiver = await startHttpCollector(folder)
  })
  after(async () => {
    await receiver.stop()
    await removeFolder(folder)
  })
  beforeEach(async () => {
    clock = Date.UTC(2026, 0, 1)
    receiver.taken.length = 0
    receiver.answer = () => undefined
    streams = new TestStreams()
    opened = await openSqlite({ file: ':memory:', resources: RESOURCES, now: () => new Date(clock) })
    secret = await opened.store.secret(WEBHOOK_SECRET)
    started = []
  })
  afterEach(async () => {
    for (const one of started) await one.webhooks.close()
    await opened.store.close()
  })

  interface Started {
    readonly webhooks: Webhooks
    readonly log: string[]
    readonly sent: SentEvents[]
    readonly registry: Registry
  }

  async function start(changed: Partial<Subscription> = {}, networks = ['127.0.0.0/8']): Promise<Started> {
    const log: string[] = []
    const sent: SentEvents[] = []
    const registry = new Registry()
    const subscription = { ...ERP, url: `https://127.0.0.1:${receiver.port}/hook`, ...changed }
    const webhooks = new Webhooks({
      store: opened.store,
      deliveries: opened.deliveries,
      places: { networks, ca: await readFile(join(folder, 'crt.pem'), 'utf8') },
      open: openOwnStreams(streams.stages, (key) => `lent-${key}`),
      subscriptions: () => [subscription],
      now: () => new Date(clock),
      log: createLog('debug', { write: (line: string) => void log.push(line) }),
      meters: createWebhookMeters(registry, async () => 10),
      noteSent: (one) => sent.push(one),
    })
    const one = { webhooks, log, sent, registry }
    started.push(one)
    await webhooks.look()
    return one
  }

  const bodies = () => receiver.taken.map(({ body }) => JSON.parse(body))
  const stateOf = async () => (await opened.deliveries.kept()).states.get('erp') ?? {}
  const failedTimes = (times: number) => until(async () => (await stateOf()).attempts === times)

  it('are signed as Standard Webhooks says, and name the event and its object', async () => {
    await start()
    streams.tell('appeared', { id: 'p1', state: 'new' })
    await until(() => receiver.taken.length === 1)
    const [{ body = '', headers = {} } = {}] = receiver.taken
    const given = { ...headers } as Record<string, string>
    const now = { ...given, 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) }
    expect(JSON.parse(body)).to.deep.equal({
      type: 'parcels.appeared',
      timestamp: '2026-01-01T00:00:00.000Z',
      data: { id: 'p1', state: 'new' },
    })
    expect(given['webhook-id']).to.equal('erp.1')
    expect(given['content-type']).to.equal('application/json')
    const library = new Webhook(webhookSecret(secret, 'erp', 1))
    const signature = library.sign('erp.1', new Date(clock), body)
    expect(given['webhook-signature']).to.equal(signature)
    expect(() => library.verify(body, now)).to.throw('No matching signature')
  })

  it('are signed by the former secret too, so that a receiver can take over the new one', async () => {
    await start({ secret: 2 })
    streams.tell('changed', { id: 'p1' })
    await until(() => receiver.taken.length === 1)
    const [{ body = '', headers = {} } = {}] = receiver.taken
    const signatures = [2, 1].map((number) =>
      new Webhook(webhookSecret(secret, 'erp', number)).sign('erp.1', new Date(clock), body),
    )
    expect(headers['webhook-signature']).to.equal(signatures.join(' '))
    expect(new Set(signatures).size).to.equal(2)
  })

  it('keep their order: what comes after an event that is not taken waits, and each is tried again later and later', async () => {
    receiver.answer = () => ({ status: 500 })
    await start()
    for (const id of ['a', 'b', 'c']) streams.tell('changed', { id })
    await failedTimes(1)
    const first = (await stateOf()).nextAt ?? 0
    expect(first - clock).to.be.within(3750, 6250)
    clock = first
    await failedTimes(2)
    expect(((await stateOf()).nextAt ?? 0) - clock).to.be.within(11_250, 18_750)
    expect((await stateOf()).why).to.equal('it answers 500')
    receiver.answer = () => undefined
    clock += HOUR_MS
    await until(() => receiver.taken.length === 3)
    expect(bodies().map(({ data }) => data.id)).to.deep.equal(['a', 'b', 'c'])
    expect(receiver.taken.map(({ headers }) => headers['webhook-id'])).to.deep.equal(['erp.1', 'erp.2', 'erp.3'])
    await until(async () => (await stateOf()).after === '3.seal')
    expect(await stateOf()).to.deep.equal({ after: '3.seal' })
  })

  it('end after three days as dead letters, which are sent again when somebody asks for it', async () => {
    receiver.answer = (body) => (body.includes('"a"') ? { status: 503 } : undefined)
    const { webhooks, log, sent, registry } = await start()
    for (const id of ['a', 'b']) streams.tell('changed', { id })
    await failedTimes(1)
    clock += 71 * HOUR_MS
    await failedTimes(2)
    expect(await opened.deliveries.letters('erp')).to.deep.equal([])
    clock += 5 * HOUR_MS
    await until(async () => (await opened.deliveries.letters('erp')).length === 1)
    const [letter] = await opened.deliveries.letters('erp')
    expect(letter).to.deep.include({ id: 'erp.1', event: '1.seal', type: 'parcels.changed', why: 'it answers 503' })
    await until(() => log.join('').includes('an event is a dead letter now'))
    expect(sent).to.deep.include({ subscription: sent[0]?.subscription, isTaken: false, last: '1.seal', events: 1 })
    expect(await registry.metrics()).to.contain('sallyport_webhook_dead_letters_total{subscription="erp"} 1')
    clock += 5 * HOUR_MS
    await until(() => receiver.taken.length === 1)
    expect(bodies()[0].data.id).to.equal('b')

    receiver.answer = () => undefined
    if (letter) await opened.deliveries.bury('erp', { ...letter, isDue: true })
    await opened.deliveries.order('erp', 'retry')
    await webhooks.look()
    await until(() => receiver.taken.length === 2)
    expect(receiver.taken[1]?.headers['webhook-id']).to.equal('erp.1')
    expect(bodies()[1].data.id).to.equal('a')
    await until(async () => (await opened.deliveries.letters('erp')).length === 0)
    expect((await opened.deliveries.kept()).orders.size).to.equal(0)
  })

  it('skip an event when somebody asks for it, which is a dead letter then', async () => {
    receiver.answer = (body) => (body.includes('"a"') ? { status: 400 } : undefined)
    const { webhooks } = await start()
    for (const id of ['a', 'b']) streams.tell('changed', { id })
    await failedTimes(1)
    await opened.deliveries.order('erp', 'skip')
    await webhooks.look()
    await until(() => receiver.taken.length === 1)
    expect(bodies()[0].data.id).to.equal('b')
    expect((await opened.deliveries.letters('erp')).map(({ id }) => id)).to.deep.equal(['erp.1'])
  })

  it('end at once when the receiver wants no more (410), until somebody asks for them', async () => {
    receiver.answer = () => ({ status: 410 })
    const { webhooks } = await start()
    streams.tell('changed', { id: 'a' })
    await until(async () => (await stateOf()).gone !== undefined)
    receiver.answer = () => undefined
    clock += 100 * HOUR_MS
    await webhooks.look()
    expect(receiver.taken.length).to.equal(0)
    await opened.deliveries.order('erp', 'retry')
    await webhooks.look()
    await until(() => receiver.taken.length === 1)
  })

  it('follow no redirect', async () => {
    let asked = 0
    receiver.answer = () => {
      asked += 1
      return { status: 307, headers: { location: `https://127.0.0.1:${receiver.port}/other` } }
    }
    await start()
    streams.tell('changed', { id: 'a' })
    await failedTimes(1)
    expect((await stateOf()).why).to.equal('it answers 307, and no redirect is followed')
    expect(asked).to.equal(1)
  })

  for (const host of [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0x7f.1',
    '169.254.169.254',
    '10.0.0.1',
  ]) {
    it(`reach no private address that nobody has named: ${host}`, async () => {
      await start({ url: `https://${host}:${receiver.port}/hook` }, [])
      streams.tell('changed', { id: 'a' })
      await failedTimes(1)
      expect((await stateOf()).why).to.contain('is not on the public Internet')
      expect(receiver.taken.length).to.equal(0)
    })
  }

  it('go on after a restart with what was not taken, and lose nothing', async () => {
    receiver.answer = (body) => (body.includes('"c"') ? { status: 500 } : undefined)
    const { webhooks } = await start()
    for (const id of ['a', 'b', 'c', 'd']) streams.tell('changed', { id })
    await failedTimes(1)
    await webhooks.close()
    receiver.answer = () => undefined
    clock += HOUR_MS
    await start()
    await until(() => receiver.taken.length === 4)
    expect(bodies().map(({ data }) => data.id)).to.deep.equal(['a', 'b', 'c', 'd'])
    expect(streams.asked.at(-1)).to.deep.equal({ authorization: 'Bearer lent-KEYKEYKEYK', after: '2.seal' })
  })

  it('come from one of two instances', async () => {
    const [first, second] = [await start(), await start()]
    for (const id of ['a', 'b', 'c']) streams.tell('changed', { id })
    await until(() => receiver.taken.length === 3)
    await Promise.all([first.webhooks.look(), second.webhooks.look()])
    expect(streams.asked.length).to.equal(1)
    await first.webhooks.close()
    await second.webhooks.look()
    streams.tell('changed', { id: 'd' })
    await until(() => receiver.taken.length === 4)
    expect(bodies().map(({ data }) => data.id)).to.deep.equal(['a', 'b', 'c', 'd'])
  })

  it('stop while the key may not follow the events, and say why', async () => {
    streams.refusal = { status: 401, detail: 'The token is not valid.' }
    streams.tell('changed', { id: 'a' })
    await start()
    await failedTimes(1)
    const { why, isRefused } = await stateOf()
    expect({ why, isRefused }).to.deep.equal({
      why: 'the stream answers 401 token-invalid: The token is not valid.',
      isRefused: true,
    })
    streams.refusal = undefined
    clock += 100 * HOUR_MS
    receiver.answer = () => ({ status: 500 })
    await until(async () => (await stateOf()).why === 'it answers 500')
    expect(
      await opened.deliveries.letters('erp'),
      'three days without a right are no three days of attempts',
    ).to.deep.equal([])
  })

  describe('that wait for a slow receiver', () => {
    const open = () =>
      openOwnStreams(streams.stages, (key) => key)(
        { key: 'k', path: '/', after: undefined },
        new AbortController().signal,
      )

    it('are dropped when the caller may see something else: it must read its list again', async () => {
      const feed = await open()
      for (const id of ['a', 'b']) streams.tell('changed', { id })
      expect((await feed.next())?.id).to.equal('1.seal')
      for (const [kind, id] of [
        ['changed', 'c'],
        ['reset', 'r'],
        ['changed', 'd'],
      ] as const)
        streams.tell(kind, { id })
      await sleep(20)
      expect([(await feed.next())?.id, (await feed.next())?.id]).to.deep.equal(['4.seal', '5.seal'])
      feed.close()
      expect(await feed.next()).to.equal(undefined)
    })

    it('are as many as a bound allows: then the stream ends, to be opened again', async () => {
      const feed = await open()
      for (let id = 0; id < 1000; id++) streams.tell('changed', { id })
      await sleep(50)
      let last = 0
      for (let event = await feed.next(); event; event = await feed.next()) last = Number.parseInt(event.id, 10)
      expect(last).to.equal(256)
      feed.close()
    })
  })
})

const ERP: Omit<Subscription, 'url'> = {
  name: 'erp',
  key: 'KEYKEYKEYK',
  resource: 'parcels',
  path: '/parcels/events',
  secret: 1,
  enabled: true,
}
