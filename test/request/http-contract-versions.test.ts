/** docs/http.md, "Versions": what the answers of a route say that is on its way out, and 410 after its end. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import type { Answer, TestServer } from '../server.ts'
import { startWithThings } from './things.ts'

const DEPRECATED = { deprecated: '2026-12-01', sunset: '2027-06-01' }
const ROUTES = [
  { path: '/v1/things', methods: ['GET', 'POST'], ...DEPRECATED, successor: '/things' },
  { path: '/v1/things/{id}', methods: ['GET', 'PATCH'], ...DEPRECATED, successor: '/things/{id}' },
  { path: '/old', methods: ['GET'], found: '/things', ...DEPRECATED },
  { path: '/later', methods: ['GET'], sunset: '2999-01-01' },
]
const DEPRECATION = '@1796083200'
const SUNSET = 'Tue, 01 Jun 2027 00:00:00 GMT'

describe('a deprecated route', () => {
  let now = new Date('2026-11-21T00:00:00Z')
  let server: TestServer
  let token: string

  before(async () => {
    server = await startWithThings(ROUTES, { now: () => now })
    token = await server.token('ada', 'admin')
  })
  beforeEach(() => {
    now = new Date('2026-11-21T00:00:00Z')
  })
  after(() => server.stop())

  it('says since when (Deprecation, RFC 9745), until when (Sunset, RFC 8594), and what follows it', async () => {
    const { status, headers } = await server.ask('GET', '/v1/things', { token })
    expect(status).to.equal(200)
    expect(headers.get('deprecation')).to.equal(DEPRECATION)
    expect(Number(DEPRECATION.slice(1)) * 1000).to.equal(Date.UTC(2026, 11, 1))
    expect(headers.get('sunset')).to.equal(SUNSET)
    expect(Date.parse(SUNSET)).to.equal(Date.UTC(2027, 5, 1))
    expect(headers.get('link')).to.equal('</things>; rel="successor-version"')
  })

  it('says it in every answer: HEAD, OPTIONS, writes, redirects and problems', async () => {
    for (const [method, path, status, options] of [
      ['HEAD', '/v1/things', 200, { token }],
      ['OPTIONS', '/v1/things', 204, {}],
      ['POST', '/v1/things', 201, { token, body: {} }],
      ['POST', '/v1/things', 400, { token, body: { size: 'x' } }],
      ['GET', '/v1/things', 401, {}],
      ['GET', '/v1/things', 401, { token: 'bad' }],
      ['GET', '/v1/things/none', 404, { token }],
      ['DELETE', '/v1/things', 405, { token }],
      ['GET', '/old', 302, { token }],
    ] as const) {
      const answer = await server.ask(method, path, options)
      expect(answer.status, `${method} ${path}`).to.equal(status)
      expect(spoken(answer).slice(0, 2), `${method} ${path}`).to.deep.equal([DEPRECATION, SUNSET])
    }
  })

  it('a route that stays says nothing of the kind (negative control)', async () => {
    expect(spoken(await server.ask('GET', '/things', { token }))).to.deep.equal([null, null, null])
    const later = await server.ask('GET', '/later', { token })
    expect(spoken(later)).to.deep.equal([null, 'Tue, 01 Jan 2999 00:00:00 GMT', null])
  })

  it('keeps the Link of a list beside its own', async () => {
    for (let i = 0; i < 2; i++) await server.ask('POST', '/things', { token, body: {} })
    const link = (await server.ask('GET', '/v1/things?limit=1', { token })).headers.get('link')
    expect(link).to.match(/^<\/v1\/things\?[^>]*>; rel="next", <\/things>; rel="successor-version"$/)
  })

  it('names the successor of the very object, encoded anew so that no id ends the link', async () => {
    for (const [id, link] of [
      ['7', '</things/7>'],
      ['a%2Fb', '</things/a%2Fb>'],
      ['%3E%3B%20rel=x', '</things/%3E%3B%20rel%3Dx>'],
      ['%E2%82%AC', '</things/%E2%82%AC>'],
      ['$&', '</things/%24%26>'],
    ]) {
      for (const method of ['GET', 'OPTIONS', 'DELETE']) {
        const { headers } = await server.ask(method, `/v1/things/${id}`, { token })
        expect(headers.get('link'), id).to.equal(`${link}; rel="successor-version"`)
      }
    }
  })

  it('a new object has the Location of the route that stays', async () => {
    const { headers, body } = await server.ask('POST', '/v1/things', { token, body: {} })
    expect(headers.get('location')).to.equal(`/things/${body.id}`)
    const text = await readFile(`${server.folder}/schemas/things.json`, 'utf8')
    const schema = JSON.parse(text)
    const { routes } = schema['x-resource']
    schema['x-resource'].routes = routes.filter(({ path }: { path: string }) => path !== '/things/{id}')
    const { byName } = parseResources([{ name: 'things.json', text: JSON.stringify(schema) }])
    expect(byName.get('things')?.canonicalItemPath, 'where none stays').to.equal('/v1/things/{id}')
  })

  it('answers until its last millisecond, and from the sunset on is 410 for every method and caller', async () => {
    now = new Date('2027-05-31T23:59:59.999Z')
    expect((await server.ask('GET', '/v1/things', { token })).status).to.equal(200)
    for (const instant of ['2027-06-01T00:00:00.000Z', '2030-01-01T00:00:00.000Z']) {
      now = new Date(instant)
      for (const [method, path, asked] of [
        ['GET', '/v1/things', {}],
        ['HEAD', '/v1/things', {}],
        ['OPTIONS', '/v1/things', {}],
        ['POST', '/v1/things', { body: {} }],
        ['PATCH', '/v1/things/none', { body: {} }],
        ['GET', '/old', {}],
      ] as const) {
        const answer = await server.ask(method, path, asked)
        expect([answer.status, answer.body?.code ?? 'gone'], `${method} ${path}`).to.deep.equal([410, 'gone'])
        expect(spoken(answer).slice(0, 2)).to.deep.equal([DEPRECATION, SUNSET])
      }
    }
    expect((await server.ask('GET', '/things')).status, 'its successor').to.equal(401)
  })

  it('410 comes after 429, 404, 405 and bad credentials, before anything that the policy says', async () => {
    now = new Date('2028-01-01T00:00:00Z')
    const statuses = []
    for (const [method, asked] of [
      ['DELETE', { token }],
      ['GET', { token: 'bad' }],
      ['GET', { token: await server.token('alice', 'member') }],
      ['POST', { token, body: 'no JSON' }],
    ] as const) {
      statuses.push((await server.ask(method, '/v1/things', asked)).status)
    }
    expect(statuses).to.deep.equal([405, 401, 410, 410])
  })

  it('410 leaves a decision record', async () => {
    now = new Date('2028-01-01T00:00:00Z')
    await server.ask('GET', '/v1/things', { token })
    expect(await server.lastDecision({ method: 'GET' })).to.include({
      status: 410,
      outcome: 'refused',
      problem: 'gone',
      route: '/v1/things',
    })
  })
})

function spoken({ headers }: Answer): readonly (string | null)[] {
  return ['deprecation', 'sunset', 'link'].map((name) => headers.get(name))
}
