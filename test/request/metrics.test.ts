/** Metrics on a port of their own, whose labels no client can multiply. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { converse, request } from './raw.ts'

describe('metrics', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startTestServer({ demo: true })
    token = await server.token('alice', 'member')
  })
  after(() => server.stop())

  it('are served on the admin port alone, in the text form of Prometheus', async () => {
    const response = await fetch(`${server.app.adminUrl}/metrics`)
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ])
    expect((await server.ask('GET', '/metrics')).status).to.equal(404)
    expect((await fetch(`${server.app.adminUrl}/api/v1/notes`)).status).to.equal(404)
  })

  it('count requests by method, route and status', async () => {
    const before = await counted({ method: 'GET', route: '/api/users/{id}', status: '403' })
    for (let i = 0; i < 3; i++) await server.ask('GET', '/api/users/bob', { token })
    expect(await counted({ method: 'GET', route: '/api/users/{id}', status: '403' })).to.equal(before + 3)
    await server.ask('DELETE', '/livez')
    expect(await counted({ method: 'DELETE', route: '/livez', status: '405' })).to.equal(1)
  })

  it('have no label that clients choose: neither id, path, method, query, subject nor address', async () => {
    await server.ask('GET', '/warm')
    const before = await series()
    for (let i = 0; i < 30; i++) {
      await server.ask('GET', `/warm${i}/x`, { token: await server.token(`user-${i}`, 'member') })
      await server.ask('GET', `/api/users/user-${i}?q${i}=1`, { token })
      await server.ask('GET', `/profile/user-${i}`)
      await converse(server.url, [request(`METHOD${i} /livez`)])
    }
    const after = await series()
    for (const added of after.difference(before)) expect(added).not.to.match(/user-|warm|METHOD\d|q\d|127\.0\.0\.1/)
    // One new histogram for each combination of route and status above, whatever the number of requests.
    expect(new Set([...after.difference(before)].map(labels)).size).to.be.lessThan(8)
    const values = [...after].flatMap((one) => [...one.matchAll(/route="([^"]*)"/g)].map(([, route = '']) => route))
    const known = ['unknown', ...server.app.resources.routes.map(({ path }) => path)]
    expect(new Set(values).difference(new Set(known)).size).to.equal(0)
  })

  it('say which policy is in force, since when, and whether loading failed', async () => {
    const text = await scrape()
    expect(text).to.contain(`sallyport_policy_info{revision="${server.app.policy.active.revision}"} 1`)
    expect(text).to.match(/^sallyport_policy_activated_timestamp_seconds \d{10}(\.\d+)?$/m)
    expect(text).to.contain('sallyport_policy_load_failures_total 0')
    expect(text).to.contain('sallyport_limiter_degraded 0')
    expect(text).to.contain('sallyport_process_resident_memory_bytes')
  })

  async function scrape(): Promise<string> {
    return (await fetch(`${server.app.adminUrl}/metrics`)).text()
  }

  async function series(): Promise<ReadonlySet<string>> {
    const lines = (await scrape()).split('\n').filter((line) => line.startsWith('sallyport_request_'))
    return new Set(lines.map((line) => line.replace(/ [^ ]+$/, '')))
  }

  async function counted({ method, route, status }: Record<string, string>): Promise<number> {
    const name = `sallyport_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`
    const line = (await scrape()).split('\n').find((one) => one.startsWith(name))
    return Number(line?.split(' ').at(-1) ?? 0)
  }
})

function labels(line: string): string {
  return line.replace(/^[^{]*/, '').replace(/le="[^"]*",?/, '')
}
