/** A collector that is away, slow or refusing costs spans and metrics, and never an answer. */
import { expect } from 'chai'
import { freePort } from '../redis.ts'
import type { TestServer } from '../server.ts'
import { until } from '../until.ts'
import { Collector, startTracedServer } from './collector.ts'

const QUEUE = 64

describe('a collector', () => {
  let collector: Collector
  let server: TestServer
  let token: string

  beforeEach(() => {
    collector = new Collector()
  })
  afterEach(async () => {
    await server.stop()
    await collector.close()
  })

  async function start(url: string, env: Record<string, string> = {}): Promise<void> {
    server = await startTracedServer(url, { env: { OTEL_BSP_MAX_QUEUE_SIZE: `${QUEUE}`, ...env } })
    token = await server.token('ann', 'member')
  }

  async function askAll(requests = 200): Promise<void> {
    const answers = Array.from({ length: requests }, () => server.ask('GET', '/api/v1/notes', { token }))
    for (const { status } of await Promise.all(answers)) expect(status).to.equal(200)
  }

  const about = (words: RegExp) => server.log.map(({ msg }) => String(msg)).filter((line) => words.test(line))

  it('that is away is one sentence in the log, and one when it is there again', async () => {
    const port = await freePort()
    // Less than the pause before it is tried again.
    await start(`http://127.0.0.1:${port}`, { OTEL_EXPORTER_OTLP_TIMEOUT: '500' })
    await askAll(20)
    await until(() => about(/doesn't take traces/).length > 0)
    for (let i = 0; i < 5; i++) await askAll(20)
    expect(about(/collector/)).to.have.length(1)
    expect(about(/collector/)[0]).to.match(
      /^the collector doesn't take traces \((connection refused|Request timed out)\): they are lost until it does$/,
    )
    await collector.listen(port)
    await until(async () => {
      await askAll(1)
      return about(/takes traces again/).length > 0
    })
    expect(about(/collector/)).to.have.length(2)
    expect(server.log.find(({ msg }) => msg === 'the collector takes traces again')?.lost).to.be.greaterThan(0)
    expect(collector.spans.length).to.be.greaterThan(0)
  })

  it('that refuses is one sentence in the log, without its words', async () => {
    await collector.listen()
    collector.behaviour = 'refuses'
    await start(collector.url, { OTEL_METRICS_EXPORTER: 'otlp' })
    await askAll()
    await until(() => about(/collector/).length > 1)
    const before = collector.batches.length
    await until(async () => {
      await askAll(5)
      return collector.batches.length > before + 4
    })
    expect(about(/collector/).toSorted()).to.deep.equal([
      "the collector doesn't take metrics (it answers 400): they are lost until it does",
      "the collector doesn't take traces (it answers 400): they are lost until it does",
    ])
    expect(JSON.stringify(server.log)).to.not.include('secret words')
  })

  it('that takes only a part is one sentence in the log', async () => {
    await collector.listen()
    collector.behaviour = 'takes a part'
    await start(collector.url)
    await until(async () => {
      await askAll(5)
      return collector.batches.length > 4
    })
    expect(about(/collector/)).to.deep.equal([
      'the collector refuses a part of the traces or metrics; its own log says why',
    ])
  })

  it('that says nothing keeps no answer waiting, and what waits for it is bounded', async () => {
    await collector.listen()
    collector.behaviour = 'says nothing'
    await start(collector.url, { OTEL_EXPORTER_OTLP_TIMEOUT: '600000', OTEL_BSP_EXPORT_TIMEOUT: '3600000' })
    await askAll(1)
    await until(() => collector.batches.length === 1)
    for (let i = 0; i < 3; i++) await askAll(60)
    // The first batch is still under way: nothing more was sent, and what didn't fit was dropped.
    expect(collector.batches).to.have.length(1)
    collector.behaviour = 'takes'
    await server.app.drain()
    expect(collector.spans.length).to.be.within(QUEUE, QUEUE + 40)
  })

  it('that says nothing delays the end of the server by two seconds at most', async () => {
    await collector.listen()
    collector.behaviour = 'says nothing'
    await start(collector.url, { OTEL_EXPORTER_OTLP_TIMEOUT: '600000' })
    await askAll(5)
    await until(() => collector.batches.length > 0)
    const began = performance.now()
    await server.app.drain()
    // Else it would be ten minutes.
    expect(performance.now() - began).to.be.below(60_000)
  })

  it('gets what waits when the server stops', async () => {
    await collector.listen()
    await start(collector.url, { OTEL_BSP_SCHEDULE_DELAY: '3600000', OTEL_METRICS_EXPORTER: 'otlp' })
    await askAll(3)
    expect(collector.spans).to.have.length(0)
    await server.app.drain()
    expect(collector.spans.filter(({ name }) => name === 'GET /api/v1/notes')).to.have.length(3)
    expect(collector.metrics.map(({ name }) => name)).to.include('sallyport_request_duration_seconds')
  })
})
