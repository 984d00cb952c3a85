/** What a server tells a collector about a request (docs/telemetry.md). */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import pg from 'pg'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { sharedPostgres } from '../postgres.ts'
import { startRedis } from '../redis.ts'
import type { TestServer, TestServerOptions } from '../server.ts'
import { CLIENT, Collector, SERVER, type SentSpan, startTracedServer } from './collector.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const SAMPLED = `00-${TRACE}-${PARENT}-01`

describe('the spans of a request', () => {
  let collector: Collector
  let server: TestServer | undefined

  beforeEach(async () => {
    collector = new Collector()
    await collector.listen()
  })
  afterEach(async () => {
    await server?.stop()
    server = undefined
    await collector.close()
  })

  async function start(options: TestServerOptions = {}) {
    server = await startTracedServer(collector.url, options)
    const token = await server.token('ann', 'member')
    return { server, token }
  }

  it('are one for the request, one for authenticate and decide, and one for each call of the store', async () => {
    const { server, token } = await start({ env: { PUBLIC_URL: 'https://api.example.com', INSTANCE: 'north-1' } })
    const { body } = await server.ask('POST', '/api/v1/notes', { token, body: { title: 'Milk' } })
    await server.ask('GET', `/api/v1/notes/${body.id}`, { token })
    const spans = await collector.trace(({ name }) => name === 'GET /api/v1/notes/{id}')
    const [root] = spans
    const { revision } = server.app.policy.active
    const record = await server.lastDecision({ method: 'GET', route: '/api/v1/notes/{id}' })
    expect(record?.rules).to.be.an('array').that.is.not.empty
    expect(root?.attributes).to.deep.equal({
      'http.request.method': 'GET',
      'http.route': '/api/v1/notes/{id}',
      'http.response.status_code': 200,
      'url.scheme': 'https',
      'server.address': 'api.example.com',
      'sallyport.resource': 'notes',
      'sallyport.action': 'read',
      'sallyport.policy.revision': revision,
      'sallyport.outcome': 'allowed',
      'sallyport.rules': record?.rules,
    })
    expect(root?.resource).to.include({ 'service.name': 'sallyport', 'service.instance.id': 'north-1' })
    expect(childrenOf(spans, root)).to.deep.equal(['authenticate', 'decide'])
    const authenticate = spans.find(({ name }) => name === 'authenticate')
    const asked = spans.filter(({ parentSpanId }) => parentSpanId === authenticate?.spanId)
    expect(asked.map(({ attributes }) => attributes['db.operation.name'])).to.include('get')
    for (const { attributes, kind, name } of asked) {
      expect([name, kind]).to.deep.equal(['store', 1])
      expect(attributes['db.system.name']).to.equal('sqlite')
    }
    expect(asked.find(({ attributes }) => attributes['db.operation.name'] === 'get')?.attributes).to.deep.equal({
      'db.system.name': 'sqlite',
      'db.operation.name': 'get',
      'db.collection.name': 'notes',
    })
  })

  it('have a commit for a write', async () => {
    const { server, token } = await start()
    await server.ask('POST', '/api/v1/notes', { token, body: { title: 'Milk' } })
    const spans = await collector.trace(({ name }) => name === 'POST /api/v1/notes')
    const [root] = spans
    expect(childrenOf(spans, root)).to.deep.equal(['authenticate', 'commit', 'decide'])
    const commit = spans.find(({ name }) => name === 'commit')
    expect(commit?.attributes).to.include({ 'db.operation.name': 'create', 'db.collection.name': 'notes' })
  })

  it('name no caller, object, value, query, address or token', async () => {
    const { server, token } = await start({ env: { PUBLIC_URL: 'https://api.example.com', INSTANCE: 'north-1' } })
    const { body } = await server.ask('POST', '/api/v1/notes', { token, body: { title: 'Milkandhoney' } })
    await server.ask('PATCH', `/api/v1/notes/${body.id}`, { token, body: { title: 'Breadandbutter' } })
    await server.ask('GET', '/api/v1/notes?limit=17&sort=-createdAt', { token })
    await server.ask('GET', `/api/v1/notes/${body.id}`, { token: await server.token('bobby', 'member') })
    await server.ask('GET', '/nowhere/Strangepath', { token })
    await server.ask('DELETE', `/api/v1/notes/${body.id}`, { token, headers: { 'X-Strange': 'Strangeheader' } })
    await collector.trace(({ name }) => name === 'DELETE /api/v1/notes/{id}')
    const secrets = ['ann', 'bobby', body.id, 'Milk', 'Bread', 'limit', '17&', 'Strange', '127.0.0.1', token]
    for (const one of secrets) expect(collector.text, one).not.to.match(new RegExp(`[":/]${one.replace('.', '\\.')}`))
    // The negative control: names of the policy are there.
    expect(collector.text)
      .to.match(/"policy\.csv:\d+"/)
      .and.to.include('"notes"')
    const strange = collector.spans.find(({ attributes }) => attributes['sallyport.problem'] === 'route-not-found')
    expect(strange?.name).to.equal('GET')
  })

  it('show an unknown method as _OTHER', async () => {
    const { server, token } = await start()
    await server.ask('PROPFIND', '/api/v1/notes', { token })
    const [root] = await collector.trace(({ name }) => name.startsWith('_OTHER'))
    expect(root?.attributes['http.request.method']).to.equal('_OTHER')
    expect(collector.text).to.not.include('PROPFIND')
  })

  it('show a refusal without an error, and a fault with its problem as the type', async () => {
    const { server, token } = await start()
    await server.ask('GET', '/api/v1/notes/nothing-here', { token })
    const [refused] = await collector.trace(({ attributes }) => attributes['http.response.status_code'] === 404)
    expect(refused?.attributes).to.include({ 'sallyport.outcome': 'refused', 'sallyport.problem': 'object-not-found' })
    expect(collector.spans.some(({ isError }) => isError)).to.equal(false)
    server.app.store.list = () => Promise.reject(new StoreUnavailable(new Error('Secretword')))
    const answer = await server.ask('GET', '/api/v1/notes', { token })
    expect(answer.status).to.equal(503)
    const spans = await collector.trace(({ attributes }) => attributes['http.response.status_code'] === 503)
    const [root] = spans
    expect(root?.attributes).to.include({ 'error.type': 'store-unavailable', 'sallyport.outcome': 'failed' })
    expect(spans.filter(({ isError }) => isError).map(({ name }) => name)).to.include.members([root?.name ?? ''])
    expect(collector.text).to.not.include('Secretword')
    const line = server.log.find(({ msg }) => msg === 'request failed')
    expect(line?.traceId).to.equal(root?.traceId)
    expect(answer.body.traceId).to.equal(root?.traceId)
  })

  it('go on with the trace of the client; its id is in the record and the problem', async () => {
    const { server, token } = await start()
    const headers = { traceparent: SAMPLED, tracestate: 'a=1,b=2' }
    const answer = await server.ask('GET', '/api/v1/notes/nothing-here', { token, headers })
    expect(answer.body.traceId).to.equal(TRACE)
    const spans = await collector.trace(({ traceId }) => traceId === TRACE)
    const [root] = spans
    expect(root).to.include({ parentSpanId: PARENT, traceState: 'a=1,b=2' })
    expect(spans.length).to.be.greaterThan(2)
    expect((await server.lastDecision({ status: 404 }))?.traceId).to.equal(TRACE)
  })

  it('leave no trace id where a request is not sampled and its client sent none', async () => {
    const { server, token } = await start({ env: { OTEL_TRACES_SAMPLER: 'always_off' } })
    expect((await server.ask('GET', '/api/v1/notes/nothing-here', { token })).body).to.not.have.property('traceId')
    expect(await server.lastDecision({ status: 404 })).to.not.have.property('traceId')
    const sent = { token, headers: { traceparent: SAMPLED } }
    expect((await server.ask('GET', '/api/v1/notes/nothing-here', sent)).body.traceId).to.equal(TRACE)
  })

  it('are of a new trace where a client sends anything else than one traceparent', async () => {
    const { server, token } = await start()
    const wrong = [
      `00-${'0'.repeat(32)}-${PARENT}-01`,
      `00-${TRACE}-${'0'.repeat(16)}-01`,
      `ff-${TRACE}-${PARENT}-01`,
      `00-${TRACE.toUpperCase()}-${PARENT}-01`,
      `00-${TRACE}-${PARENT}-01-more`,
      `00-${TRACE}-${PARENT}`,
      `${SAMPLED}, ${SAMPLED}`,
      TRACE,
    ]
    for (const traceparent of wrong) {
      const { body } = await server.ask('GET', '/nowhere', { token, headers: { traceparent } })
      expect(body.traceId, traceparent).to.match(/^[0-9a-f]{32}$/)
      expect(body.traceId, traceparent).to.not.equal(TRACE)
      expect(body.traceId, traceparent).to.not.equal('0'.repeat(32))
    }
  })

  it('are there, and the answer is the same, whatever a client sends in these headers', async () => {
    const { server, token } = await start()
    const text = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.stringMatching(/^0[0-9a-f]-[0-9a-f]{30,34}-[0-9a-f]{15,17}-[0-9a-f]{2}(-x)?$/),
      fc.string({ unit: fc.constantFrom('a', '1', '=', ',', ' ', '-', '\t'), maxLength: 2000 }),
    )
    const sendable = text.map((one) => one.replace(/[^\t\x20-\x7e]/g, '').trim())
    const property = fc.asyncProperty(sendable, sendable, async (traceparent, tracestate) => {
      const headers = { traceparent, tracestate }
      const { status, body } = await server.ask('GET', '/nowhere', { token, headers })
      expect(status).to.equal(404)
      expect(body.traceId).to.match(/^(?!0{32})[0-9a-f]{32}$/)
    })
    await fc.assert(property, { numRuns: 150 })
    await server.app.drain()
    for (const { traceId, traceState = '' } of collector.spans) {
      expect(traceId).to.match(/^(?!0{32})[0-9a-f]{32}$/)
      expect(traceState.length).to.be.at.most(512)
    }
    expect(collector.spans.length).to.be.greaterThan(150)
  })

  it('forget a tracestate that is too long', async () => {
    const { server, token } = await start()
    const tracestate = Array.from({ length: 100 }, (_, i) => `k${i}=0123456789`).join(',')
    await server.ask('GET', '/nowhere', { token, headers: { traceparent: SAMPLED, tracestate } })
    const [span] = await collector.trace(({ traceId }) => traceId === TRACE)
    expect(span?.traceState ?? '').to.equal('')
  })

  describe('are there for a client that asks for them', () => {
    const env = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }
    /** The sampler of traces by their id takes it, whatever the share. */
    const lowest = `00-${'0'.repeat(31)}1-${PARENT}-01`

    it('only if a trusted proxy passes it on', async () => {
      const { server, token } = await start({ env: { ...env, TRUST_PROXY: '127.0.0.1' } })
      await server.ask('GET', '/nowhere', { token, headers: { traceparent: SAMPLED } })
      await server.ask('GET', '/nowhere', { token, headers: { traceparent: SAMPLED.replace(/01$/, '00') } })
      await collector.trace(({ traceId }) => traceId === TRACE)
      await server.app.drain()
      expect(collector.spans.filter(({ kind }) => kind === SERVER)).to.have.length(1)
    })

    for (const [sampler, share] of [
      ['parentbased_traceidratio', '0'],
      ['parentbased_traceidratio', '0.001'],
      ['traceidratio', '0.001'],
    ] as const) {
      it(`not if it asks by itself: ${sampler} ${share}`, async () => {
        const { server, token } = await start({
          env: { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: share },
        })
        for (let i = 0; i < 20; i++) {
          await server.ask('GET', '/nowhere', { token, headers: { traceparent: i % 2 ? SAMPLED : lowest } })
        }
        await server.app.drain()
        expect(collector.spans.filter(({ kind }) => kind === SERVER).length).to.be.below(5)
      })
    }
  })

  it('do not read traceparent where OTEL_PROPAGATORS does not name tracecontext', async () => {
    const { server, token } = await start({ env: { OTEL_PROPAGATORS: 'none' } })
    const { body } = await server.ask('GET', '/nowhere', { token, headers: { traceparent: SAMPLED } })
    expect(body.traceId)
      .to.match(/^[0-9a-f]{32}$/)
      .and.to.not.equal(TRACE)
  })

  it('of requests at the same time are apart', async () => {
    const { server, token } = await start()
    const { body } = await server.ask('POST', '/api/v1/notes', { token, body: { title: 'Milk' } })
    const id = (n: number) => `${n}`.padStart(32, 'a')
    const ask = (n: number) =>
      server.ask(n % 2 ? 'GET' : 'PATCH', `/api/v1/notes/${body.id}`, {
        token,
        headers: { traceparent: `00-${id(n)}-${PARENT}-01` },
        ...(n % 2 ? {} : { body: { title: `Milk ${n}` } }),
      })
    await Promise.all(Array.from({ length: 40 }, (_, n) => ask(n)))
    await server.app.drain()
    for (let n = 0; n < 40; n++) {
      const spans = collector.spans.filter(({ traceId }) => traceId === id(n))
      const names = spans.map(({ name }) => name)
      for (const name of ['authenticate', 'decide']) expect(names.filter((one) => one === name)).to.have.length(1)
      expect(names.includes('commit'), `${n}: ${names}`).to.equal(n % 2 === 0)
      const known = new Set([PARENT, ...spans.map(({ spanId }) => spanId)])
      for (const { parentSpanId = '' } of spans) expect(known).to.include(parentSpanId)
    }
  })

  it('call PostgreSQL and Redis clients', async () => {
    const [postgres, redis] = await Promise.all([sharedPostgres(), startRedis()])
    const name = `traced_${randomBytes(6).toString('hex')}`
    await ask(postgres.url, `create database ${name}`)
    try {
      const limits =
        'body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n  any: { per: address, allow: 1000, window: 60s }\n'
      const { server, token } = await start({
        env: { DATABASE_URL: new URL(`/${name}`, postgres.url).href, REDIS_URL: redis.url },
        files: { 'policies/limits.yaml': limits },
      })
      await server.ask('POST', '/api/v1/notes', { token, body: { title: 'Milk' } })
      const spans = await collector.trace(({ name }) => name === 'POST /api/v1/notes')
      const clients = spans.filter(({ kind }) => kind === CLIENT)
      const systems = clients.map(({ name, attributes }) => `${name} ${attributes['db.system.name']}`)
      expect([...new Set(systems)].toSorted()).to.deep.equal(['commit postgresql', 'limit redis', 'store postgresql'])
    } finally {
      await server?.stop()
      server = undefined
      await redis.stop()
      await ask(postgres.url, `drop database ${name} with (force)`)
    }
  })
})

function childrenOf(spans: readonly SentSpan[], parent: SentSpan | undefined): readonly string[] {
  const names = spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId).map(({ name }) => name)
  return [...new Set(names)].filter((name) => name !== 'store').toSorted()
}

async function ask(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}
