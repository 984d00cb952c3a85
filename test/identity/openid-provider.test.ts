/** A server beside a real OpenID provider (examples/openid-provider.ts, which is the package `oidc-provider`). */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mock } from 'node:test'
import { expect } from 'chai'
import { AUDIENCE, SECRET, startProvider } from '../../examples/openid-provider.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { elapse } from './loopback.ts'
import { ROLES_BY_CLAIM, signInAs, tokenOf } from './openid-client.ts'

const NOTES = '/api/v1/notes'
describe('with an OpenID provider', () => {
  let provider: Awaited<ReturnType<typeof startProvider>>
  let server: TestServer

  before(async () => {
    provider = await startProvider(0)
    server = await startTestServer({
      env: { OIDC_ISSUER: provider.issuer, OIDC_AUDIENCE: AUDIENCE, OIDC_ROLES_CLAIM: 'groups' },
      files: { 'policies/roles.yaml': ROLES_BY_CLAIM },
    })
  })
  afterEach(() => mock.timers.reset())
  after(async () => {
    await server.stop()
    await provider.stop().catch(() => undefined)
  })

  const statusOf = async (token: string, path = NOTES, method = 'GET', body?: unknown) =>
    (await server.ask(method, path, { token, body })).status

  it('its tokens are callers, with the roles that roles.yaml makes of what it says', async () => {
    const audit = await tokenOf(provider.issuer, 'nightly-report')
    const shop = await tokenOf(provider.issuer, 'web-shop')
    expect(await statusOf(audit)).to.equal(200)
    expect(await statusOf(audit, NOTES, 'POST', { title: 't' })).to.equal(403)
    expect(await statusOf(shop, NOTES, 'POST', { title: 't' })).to.equal(201)
    const last = await server.lastDecision({ method: 'POST', status: 201 })
    expect([last?.subject, last?.roles]).to.deep.equal(['web-shop', ['member']])
  })

  it('what it says gives no role by being spelled like one', async () => {
    const token = await tokenOf(provider.issuer, 'impostor')
    expect(await statusOf(token)).to.equal(403)
    expect(await server.lastDecision({ method: 'GET' })).to.include({ subject: 'impostor', authentication: 'caller' })
  })

  it('tokens made here are taken beside it, each by its own keys', async () => {
    expect(await statusOf(await server.token('zoe', 'member'))).to.equal(200)
    // A claim that roles.yaml maps for the provider gives nothing to others' tokens.
    expect(await statusOf(await server.token('zoe', 'customers'))).to.equal(403)
  })

  it('people who signed in with a browser are callers too, and their ID token is none', async () => {
    const { access_token, id_token } = await signInAs(provider.issuer, 'zoe')
    expect(await statusOf(access_token)).to.equal(200)
    expect(await server.lastDecision({ method: 'GET' })).to.include({
      subject: 'zoe',
      credential: `issuer ${provider.issuer}`,
    })
    expect(await statusOf(id_token)).to.equal(401)
  })

  it('an opaque access token is refused, and the log says so', async () => {
    const token = await tokenOf(provider.issuer, 'web-shop', 'urn:opaque')
    expect(await statusOf(token)).to.equal(401)
    expect(await server.lastDecision({ method: 'GET' })).to.include({ reason: 'opaque, not a JWT' })
  })

  it('a token for another audience is refused', async () => {
    const token = await tokenOf(provider.issuer, 'web-shop', 'https://other.example.com')
    expect(await statusOf(token)).to.equal(401)
    expect((await server.lastDecision({ method: 'GET' }))?.reason).to.match(/^claim aud /)
  })

  it('a token of another provider is refused, and that one is never asked', async () => {
    const other = await startProvider(0)
    const token = await tokenOf(other.issuer, 'web-shop')
    await other.stop()
    expect(await statusOf(token)).to.equal(401)
    expect(await server.lastDecision({ method: 'GET' })).to.include({ reason: 'unknown issuer' })
  })

  it('a changed roles.yaml counts within a second, for tokens that are in use', async () => {
    const token = await tokenOf(provider.issuer, 'web-shop')
    expect(await statusOf(token)).to.equal(200)
    const roles = join(server.folder, 'policies/roles.yaml')
    await writeFile(roles, ROLES_BY_CLAIM.replace('claims: [customers]', 'claims: [others]'))
    await until(async () => (await statusOf(token)) === 403)
    await writeFile(roles, ROLES_BY_CLAIM)
    await until(async () => (await statusOf(token)) === 200)
  })

  it('a user who is disabled here is refused with its tokens at once', async () => {
    const token = await tokenOf(provider.issuer, 'nightly-report')
    expect(await statusOf(token)).to.equal(200)
    await server.app.directory.disable('nightly-report')
    expect(await statusOf(token)).to.equal(401)
    await server.app.directory.enable('nightly-report')
    expect(await statusOf(token)).to.equal(200)
  })

  it('keys that it changes are found, and then tokens of keys that it gave up are refused', async () => {
    const old = await tokenOf(provider.issuer, 'web-shop')
    expect(await statusOf(old)).to.equal(200)
    await provider.rotate()
    const token = await tokenOf(provider.issuer, 'web-shop')
    elapse(11)
    expect(await statusOf(token)).to.equal(200)
    expect(await statusOf(old)).to.equal(401)
  })

  it('out of reach, its tokens are 503 and nobody else notices; back again, they are taken', async () => {
    const { port } = provider
    const token = await tokenOf(provider.issuer, 'web-shop')
    await provider.stop()
    const late = await startTestServer({
      env: { OIDC_ISSUER: provider.issuer, OIDC_AUDIENCE: AUDIENCE, OIDC_ROLES_CLAIM: 'groups' },
      files: { 'policies/roles.yaml': ROLES_BY_CLAIM },
    })
    const down = await late.ask('GET', NOTES, { token })
    expect([down.status, down.body.code]).to.deep.equal([503, 'key-server-unavailable'])
    expect(Number(down.headers.get('retry-after'))).to.be.greaterThan(0)
    expect((await late.ask('GET', NOTES, { token: await late.token('zoe', 'member') })).status).to.equal(200)
    provider = await startProvider(port)
    const again = await tokenOf(provider.issuer, 'web-shop')
    elapse(11)
    await until(async () => (await late.ask('GET', NOTES, { token: again })).status === 200)
    await late.stop()
  })

  it('its client secret is nothing that the server knows', () => {
    expect(JSON.stringify(server.log)).to.not.include(SECRET)
  })
})
