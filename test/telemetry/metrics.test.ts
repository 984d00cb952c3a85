/** A collector gets the metrics of the admin port. */
import { expect } from 'chai'
import type { TestServer } from '../server.ts'
import { until } from '../until.ts'
import { Collector, type SentMetric, startTracedServer } from './collector.ts'

describe('metrics that are sent', () => {
  let collector: Collector
  let server: TestServer

  before(async () => {
    collector = new Collector()
    await collector.listen()
    const env = {
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b',
    }
    server = await startTracedServer(collector.url, { env })
    const token = await server.token('ann', 'member')
    for (let i = 0; i < 3; i++) await server.ask('GET', '/api/v1/notes', { token })
    await server.ask('GET', '/nowhere', { token })
    const sent = collector.batches.length
    await until(() => collector.batches.length > sent + 1)
  })
  after(async () => {
    await server.stop()
    await collector.close()
  })

  it('have the names, labels and kinds of the admin port', async () => {
    const text = await (await fetch(`${server.app.adminUrl}/metrics`)).text()
    const kinds = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, kind]) => `${name} ${kind}`)
    const sent = new Set(collector.metrics.map(({ name, kind }) => `${name} ${kind === 'sum' ? 'counter' : kind}`))
    expect(kinds).to.include('sallyport_decisions_lost_total counter').and.to.have.length.greaterThan(15)
    expect([...sent].toSorted()).to.deep.equal(kinds.toSorted())
  })

  it('have the values of the admin port', async () => {
    const durations = newest('sallyport_request_duration_seconds')
    const point = durations?.points.find(({ attributes }) => Reflect.get(attributes as object, 'status') === '200')
    expect(point?.attributes).to.deep.equal({ method: 'GET', route: '/api/v1/notes', status: '200' })
    expect(point?.count).to.equal(3)
    const [bounds, counts] = [point?.explicitBounds as number[], point?.bucketCounts as number[]]
    expect(bounds[0]).to.equal(0.0005)
    expect(counts).to.have.length(bounds.length + 1)
    expect(counts.reduce((sum, one) => sum + one, 0)).to.equal(3)
    const info = newest('sallyport_policy_info')
    expect(info?.points[0]?.attributes).to.deep.equal({ revision: server.app.policy.active.revision })
    expect(newest('sallyport_decisions_lost_total')?.points[0]?.asDouble).to.equal(0)
  })

  it('come without traces where only they are asked for, with the headers of the settings', () => {
    expect(new Set(collector.batches.map(({ path }) => path))).to.deep.equal(new Set(['/v1/metrics']))
    expect(collector.batches[0]?.headers['api-key']).to.equal('a b')
  })

  const newest = (name: string): SentMetric | undefined => collector.metrics.findLast((one) => one.name === name)
})
