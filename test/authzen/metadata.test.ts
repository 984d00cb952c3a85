/** /.well-known/authzen-configuration tells where the parts of the API are; X-Request-ID comes back with every answer. */
import { request as send } from 'node:http'
import { expect } from 'chai'
import { readConfig } from '../../src/config/config.ts'
import { startTestServer, type TestServer } from '../server.ts'

const METADATA = '/.well-known/authzen-configuration'
const EVALUATION = '/access/v1/evaluation'

describe('the metadata of the policy decision point', () => {
  it('is public, names PUBLIC_URL, and only routes that are there', async () => {
    const server = await startTestServer({ env: { PUBLIC_URL: 'https://pdp.example.com' } })
    const { status, body, headers } = await server.ask('GET', METADATA)
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.match(/^application\/json/)
    expect(body).to.deep.include({
      policy_decision_point: 'https://pdp.example.com',
      access_evaluation_endpoint: 'https://pdp.example.com/access/v1/evaluation',
      access_evaluations_endpoint: 'https://pdp.example.com/access/v1/evaluations',
    })
    const { policy_decision_point: base, ...endpoints } = body
    for (const url of Object.values<string>(endpoints)) {
      expect((await server.ask('POST', url.replace(base, ''), { body: {} })).status, url).to.equal(401)
    }
    await server.stop()
  })

  it('says where the server listens without PUBLIC_URL, whatever the header Host is', async () => {
    const server = await startTestServer()
    const { body } = await server.ask('GET', METADATA)
    expect(body.policy_decision_point).to.equal(server.url)
    expect(await textFor(server, { host: 'evil.example', 'x-forwarded-host': 'evil.example' })).to.equal(
      JSON.stringify(body),
    )
    await server.stop()
  })

  for (const wrong of [
    'pdp.example.com',
    'https://pdp.example.com/',
    'https://a@b.example',
    'ftp://b.example',
    'https://b.example?x',
  ]) {
    it(`is not started with the PUBLIC_URL ${wrong}`, () => {
      expect(() => readConfig({ PUBLIC_URL: wrong })).to.throw(/^PUBLIC_URL is ".*"; set it to an origin/)
    })
  }
})

describe('X-Request-ID', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(() => server.stop())

  it('comes back exactly, with every answer, problems included', async () => {
    const token = await server.token('shop', 'pdp-client')
    const id = 'bfe9eb29-ab87-4ca3-be83-a1d5d8305716 "#,;=\'/'
    const headers = { 'x-request-id': id }
    const subject = { type: 'user', id: 'alice' }
    const body = { subject, action: { name: 'read' }, resource: { type: 'users', id: 'alice' } }
    for (const [status, path, options] of [
      [200, EVALUATION, { token, body }],
      [400, EVALUATION, { token, body: {} }],
      [400, EVALUATION, { token, body: '{' }],
      [401, EVALUATION, { body }],
      [401, EVALUATION, { token: 'bad', body }],
      [403, EVALUATION, { token: await server.token('alice', 'member'), body }],
      [404, '/access/v1/nothing', { token, body }],
      [413, EVALUATION, { token, body: { ...body, more: 'x'.repeat(200_000) } }],
      [415, EVALUATION, { token, body, headers: { 'content-type': 'text/plain' } }],
    ] as const) {
      const answer = await server.ask('POST', path, { ...options, headers: { ...headers, ...Object(options).headers } })
      expect([answer.status, answer.headers.get('x-request-id')], path).to.deep.equal([status, id])
    }
    for (const [method, path] of [
      ['GET', EVALUATION],
      ['OPTIONS', EVALUATION],
      ['GET', METADATA],
    ] as const) {
      expect((await server.ask(method, path, { headers })).headers.get('x-request-id')).to.equal(id)
    }
  })

  it('is not made up, and not repeated elsewhere, nor with characters beyond ASCII', async () => {
    const idOf = async (path: string, headers: Record<string, string>) =>
      (await server.ask('GET', path, { headers })).headers.get('x-request-id')
    expect(await idOf(METADATA, {})).to.equal(null)
    expect(await idOf('/livez', { 'x-request-id': 'one' })).to.equal(null)
    for (const id of ['x'.repeat(257), 'x'.repeat(15_000), 'a\tb']) {
      expect(await idOf(METADATA, { 'x-request-id': id })).to.equal(id)
    }
    expect(await idOf(METADATA, { 'x-request-id': 'caf\u00e9' })).to.equal(null)
  })
})

function textFor({ url }: TestServer, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    send(url + METADATA, { headers }, async (response) => {
      resolve((await response.setEncoding('utf8').toArray()).join(''))
    })
      .on('error', reject)
      .end()
  })
}
