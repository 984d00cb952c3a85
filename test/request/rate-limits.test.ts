/** 429: which requests count, what the answer says, and that an address known to be over costs no verification. */

import { expect } from 'chai'
import type { Authentication, TokenVerifier } from '../../src/identity/caller.ts'
import { createApiKey, hashOfSecret } from '../../src/identity/directory/api-key.ts'
import { anotherKey } from '../another-key.ts'
import { type Answer, startTestServer, type TestServer, type TestServerOptions } from '../server.ts'
import { converse, request } from './raw.ts'

function limited(limits: string, options: TestServerOptions = {}): Promise<TestServer> {
  const text = `body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n${limits}`
  return startTestServer({ demo: true, ...options, files: { ...options.files, 'policies/limits.yaml': text } })
}

const ADDRESS = '  address: { per: address, allow: 3, window: 60s }\n'
const SUBJECT = '  member: { per: subject, allow: 2, window: 30s, match: { role: member } }\n'
const BAD = '  bad: { per: address, allow: 3, window: 60s, match: { credentials: rejected } }\n'

function expectOver({ status, headers, body }: Answer, violated: readonly string[]): void {
  expect(status).to.equal(429)
  expect(headers.get('content-type')).to.equal('application/problem+json')
  expect(body).to.include({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    status: 429,
    code: 'quota-exceeded',
  })
  expect(body['violated-policies']).to.deep.equal(violated)
  expect(headers.get('retry-after')).to.match(/^[1-9]\d*$/)
  for (const name of violated) expect(headers.get('ratelimit')).to.contain(`"${name}";r=0;t=`)
}

describe('rate limits', () => {
  let server: TestServer
  afterEach(() => server.stop())

  it('every limited response says which policies hold and what is left', async () => {
    server = await limited(ADDRESS + SUBJECT)
    const token = await server.token('alice', 'member')
    const { headers } = await server.ask('GET', '/livez', { token })
    expect(headers.get('ratelimit-policy')).to.equal('"address";q=3;w=60, "member";q=2;w=30')
    expect(headers.get('ratelimit')).to.match(/^"address";r=2;t=(60|59), "member";r=1;t=(30|29)$/)
    const anonymous = await server.ask('GET', '/livez')
    expect(anonymous.headers.get('ratelimit-policy')).to.equal('"address";q=3;w=60')
    expect(anonymous.headers.get('ratelimit')).to.match(/^"address";r=1;t=/)
  })

  it('429 has Retry-After, RateLimit, RateLimit-Policy and the violated policies', async () => {
    server = await limited(`  wide: { per: address, allow: 100, window: 60s }\n${SUBJECT}`)
    const token = await server.token('alice', 'member')
    for (let i = 0; i < 2; i++) expect((await server.ask('GET', '/profile', { token })).status).to.equal(200)
    const over = await server.ask('GET', '/profile', { token })
    expectOver(over, ['member'])
    expect(over.headers.get('ratelimit-policy')).to.equal('"wide";q=100;w=60, "member";q=2;w=30')
    expect(Number(over.headers.get('retry-after'))).to.be.within(1, 40)
    const bob = await server.token('bob', 'member')
    expect((await server.ask('GET', '/profile', { token: bob })).status).to.equal(200)
  })

  it('404, 405, 401, 400 and OPTIONS count and are limited as well', async () => {
    for (const [method, path] of [
      ['GET', '/nowhere'],
      ['DELETE', '/livez'],
      ['GET', '/api/v1/notes'],
      ['GET', '/%zz'],
      ['OPTIONS', '/api/v1/notes'],
      ['HEAD', '/livez'],
    ] as const) {
      server = await limited(ADDRESS)
      const statuses = []
      for (let i = 0; i < 4; i++) statuses.push((await server.ask(method, path)).status)
      expect(new Set(statuses.slice(0, 3)), `${method} ${path}`).not.to.include(429)
      expect(statuses[3], `${method} ${path}`).to.equal(429)
      await server.stop()
    }
  })

  it('what is not well-formed HTTP counts too, and 429 comes first', async () => {
    server = await limited(ADDRESS)
    const statuses = []
    for (const bytes of [
      'GET /livez HTTP/1.1\r\n\r\n',
      request('GET /livez', ['Host: x']),
      request('GET /livez', ['Bad Header: x']),
      'GET /livez HTTP/1.1\r\n\r\n',
      request('GET /livez', ['Bad Header: x']),
      request('GET /livez', ['Expect: x']),
    ]) {
      const { answers, closed } = await converse(server.url, [bytes])
      expect(closed).to.equal(true)
      statuses.push(answers[0]?.status)
    }
    expect(statuses).to.deep.equal([400, 400, 400, 429, 429, 429])
  })

  it('a limit of one resource and action counts only these', async () => {
    server = await limited(
      '  notes: { per: address, allow: 1, window: 60s, match: { resource: notes, action: list } }\n',
    )
    expect((await server.ask('GET', '/api/v1/notes')).status).to.equal(401)
    expectOver(await server.ask('GET', '/api/v1/notes'), ['notes'])
    expect((await server.ask('HEAD', '/api/v1/notes')).status).to.equal(429)
    const other = await server.ask('GET', '/api/orders')
    expect([other.status, other.headers.has('ratelimit')]).to.deep.equal([401, false])
    expect((await server.ask('POST', '/api/v1/notes')).status).to.equal(401)
  })

  it('bad tokens count per address, and then few unknown tokens of the address are verified in a window', async () => {
    const spy = countingVerifier()
    server = await limited('  bad: { per: address, allow: 30, window: 60s, match: { credentials: rejected } }\n', {
      verifier: spy.verifier,
    })
    for (let i = 0; i < 30; i++) expect((await server.ask('GET', '/livez', { token: 'bad' })).status).to.equal(401)
    expectOver(await server.ask('GET', '/livez', { token: 'bad' }), ['bad'])
    const verified = spy.count()
    // A tenth of the limit, whatever becomes of them.
    for (const [token, status] of [
      ['good', 200],
      ['bad', 429],
      ['good', 200],
    ] as const) {
      expect((await server.ask('GET', '/livez', { token })).status, token).to.equal(status)
    }
    for (let i = 0; i < 20; i++) expectOver(await server.ask('GET', '/livez', { token: 'good' }), ['bad'])
    expect(spy.count()).to.equal(verified + 3)
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
  })

  it('a neighbour of whoever sends bad tokens goes on with a token or API key that was used before', async () => {
    server = await limited(BAD)
    const [alice, bob, carol] = await Promise.all(['alice', 'bob', 'carol'].map((name) => server.token(name, 'member')))
    const [used, unused] = [await addKey(server), await addKey(server)]
    const statusOf = async (token: string | undefined) => (await server.ask('GET', '/api/v1/notes', { token })).status
    for (const token of [alice, used.text]) expect(await statusOf(token)).to.equal(200)
    for (let i = 0; i < 3; i++) expect(await statusOf(`bad${i}`)).to.equal(401)
    expect(await statusOf('bad3')).to.equal(429)
    for (let i = 0; i < 5; i++) for (const token of [alice, used.text]) expect(await statusOf(token)).to.equal(200)
    // The one new token of the window, which is known from then on.
    for (let i = 0; i < 5; i++) expect(await statusOf(bob)).to.equal(200)
    for (const token of [carol, unused.text, anotherKey(used.text), 'bad4']) {
      expect(await statusOf(token)).to.equal(429)
    }
    await server.app.directory.revokeKey(used.id)
    await server.app.directory.disable('alice')
    for (const token of [alice, used.text]) expect(await statusOf(token)).to.equal(429)
    expect(await statusOf(bob)).to.equal(200)
  })

  it('an API key is verified as the one new credential of a window, too', async () => {
    server = await limited(BAD)
    const { text } = await addKey(server)
    for (let i = 0; i < 4; i++) await server.ask('GET', '/livez', { token: `bad${i}` })
    expectOver(await server.ask('GET', '/livez', { headers: { authorization: 'Basic YTpi' } }), ['bad'])
    for (let i = 0; i < 5; i++) expect((await server.ask('GET', '/livez', { token: text })).status).to.equal(200)
    expectOver(await server.ask('GET', '/livez', { token: await server.token('alice') }), ['bad'])
  })

  it('tokens that can not be verified, because the key server is down, count as bad ones', async () => {
    const failed: Authentication = { kind: 'failed', code: 'key-server-unavailable', cause: new Error('down') }
    server = await limited(BAD, { verifier: { verify: async () => failed } })
    for (let i = 0; i < 3; i++) expect((await server.ask('GET', '/livez', { token: `t${i}` })).status).to.equal(503)
    expectOver(await server.ask('GET', '/livez', { token: 't3' }), ['bad'])
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
  })

  it('a request whose token can not be verified, because the store is down, counts, and not as a bad one', async () => {
    server = await limited(ADDRESS + BAD.replace('allow: 3', 'allow: 1'))
    const token = await server.token('alice', 'member')
    await server.app.store.close()
    for (let i = 0; i < 3; i++) expect((await server.ask('GET', '/profile', { token })).status).to.equal(503)
    expectOver(await server.ask('GET', '/profile', { token }), ['address'])
  })

  it('good tokens never count as bad ones', async () => {
    const spy = countingVerifier()
    server = await limited(BAD, { verifier: spy.verifier })
    for (let i = 0; i < 10; i++) expect((await server.ask('GET', '/livez', { token: 'good' })).status).to.equal(200)
    expect(spy.count()).to.equal(10)
  })

  it('an address known to be over is refused without verifying its token', async () => {
    const spy = countingVerifier()
    server = await limited(ADDRESS, { verifier: spy.verifier })
    for (let i = 0; i < 4; i++) await server.ask('GET', '/livez', { token: 'good' })
    const verified = spy.count()
    for (let i = 0; i < 5; i++) expectOver(await server.ask('GET', '/livez', { token: 'good' }), ['address'])
    expect([verified, spy.count()]).to.deep.equal([4, 4])
  })

  it('the window passes, and requests are admitted again', async () => {
    server = await limited('  short: { per: address, allow: 1, window: 1s }\n')
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
    // On a busy machine, the window may pass between two requests.
    let { headers, status } = await server.ask('GET', '/livez')
    while (status !== 429) ({ headers, status } = await server.ask('GET', '/livez'))
    await new Promise((resolve) => setTimeout(resolve, Number(headers.get('retry-after')) * 1000))
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
  })
})

async function addKey({ app }: TestServer): Promise<{ readonly id: string; readonly text: string }> {
  const { id, text, secret } = createApiKey()
  const times = { createdAt: Date.now(), expiresAt: Date.now() + 3_600_000 }
  await app.directory.addKey({
    id,
    secretHash: hashOfSecret(secret),
    subject: 'robot',
    roles: ['auditor'],
    name: '',
    ...times,
  })
  return { id, text }
}

function countingVerifier(): { verifier: TokenVerifier; count: () => number } {
  let count = 0
  const verify = async (token: string): Promise<Authentication> => {
    count++
    if (token !== 'good') return { kind: 'rejected', code: 'token-invalid', reason: 'not good' }
    return { kind: 'caller', caller: { id: 'alice', roles: ['member'], claims: {} } }
  }
  return { verifier: { verify }, count: () => count }
}
