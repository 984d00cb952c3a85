/** Whom the policy is asked about over real HTTP: each kind of credential says when its caller signed in, or doesn't. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { AUDIENCE, startProvider } from '../../examples/openid-provider.ts'
import { type Caller, credentialKindOf } from '../../src/decide/caller.ts'
import { Snapshot } from '../../src/decide/snapshot.ts'
import { createApiKey, hashOfSecret } from '../../src/identity/directory/api-key.ts'
import { DEMO_PASSWORD } from '../../src/server/parts/demo.ts'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { signInAs, tokenOf } from './openid-client.ts'

const HOUR = 3_600_000

describe('the time of a sign-in', () => {
  let provider: Awaited<ReturnType<typeof startProvider>>
  let server: TestServer
  let clock = 0
  let asked: Caller | undefined

  before(async () => {
    provider = await startProvider(0)
    server = await startTestServer({
      demo: true,
      env: { OIDC_ISSUER: provider.issuer, OIDC_AUDIENCE: AUDIENCE, OIDC_ROLES_CLAIM: 'groups' },
      now: () => new Date(Date.now() + clock),
    })
    Object.defineProperty(server.app.policy.active.snapshot, 'subjectOf', {
      value(this: Snapshot, caller: Caller | undefined) {
        asked = caller
        return Snapshot.prototype.subjectOf.call(this, caller)
      },
    })
  })
  beforeEach(() => {
    clock = 0
  })
  after(async () => {
    await server.stop()
    await provider.stop()
  })

  /** The caller about whom the policy is asked. */
  async function callerWith(token: string): Promise<Caller> {
    asked = undefined
    await server.ask('GET', '/api/v1/notes', { token })
    if (!asked) throw new Error('the policy was not asked')
    return asked
  }

  it('is that of the password check, also with refreshed tokens, until the next sign-in', async () => {
    const signIn = { email: 'alice@example.com', password: DEMO_PASSWORD }
    const before = Math.floor(Date.now() / 1000) * 1000
    const first = await server.ask('POST', '/api/tokens', { body: signIn })
    const caller = await callerWith(first.body.access_token)
    expect(caller.authTime).to.be.within(before, Date.now())
    expect([caller.acr, credentialKindOf(caller)]).to.deep.equal([undefined, 'password'])
    clock = HOUR
    const refreshed = await server.ask('POST', '/api/tokens', { body: { refresh_token: first.body.refresh_token } })
    expect((await callerWith(refreshed.body.access_token)).authTime).to.equal(caller.authTime)
    const again = await server.ask('POST', '/api/tokens', { body: signIn })
    expect((await callerWith(again.body.access_token)).authTime).to.be.at.least(before + HOUR)
  })

  it('is that of the provider for its people; its machines do not sign in', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000
    const { access_token } = await signInAs(provider.issuer, 'zoe')
    const person = await callerWith(access_token)
    expect(person.authTime).to.be.within(before, Date.now())
    expect(credentialKindOf(person)).to.equal('provider')
    expect((await callerWith(await tokenOf(provider.issuer, 'nightly-report'))).authTime).to.equal(undefined)
  })

  it('is missing for API keys and for tokens that nobody signed in for', async () => {
    const { id, text, secret } = createApiKey()
    const times = { createdAt: Date.now(), expiresAt: Date.now() + HOUR }
    await server.app.directory.addKey({
      id,
      secretHash: hashOfSecret(secret),
      subject: 'alice',
      roles: [],
      name: '',
      ...times,
    })
    const machine = await callerWith(text)
    expect([machine.authTime, machine.acr, credentialKindOf(machine)]).to.deep.equal([undefined, undefined, 'api-key'])
    expect((await callerWith(await server.token('alice', 'member'))).authTime).to.equal(undefined)
  })
})

describe('a rule that asks for a fresh sign-in', () => {
  let provider: Awaited<ReturnType<typeof startProvider>>
  let server: TestServer
  let clock = 0

  before(async () => {
    provider = await startProvider(0)
    const shipped = readFileSync(new URL('../../policies/policy.csv', import.meta.url), 'utf8')
    server = await startTestServer({
      demo: true,
      env: { OIDC_ISSUER: provider.issuer, OIDC_AUDIENCE: AUDIENCE, OIDC_ROLES_CLAIM: 'groups' },
      now: () => new Date(Date.now() + clock),
      files: {
        'policies/conditions.yaml': 'fresh: { signedIn: { within: 3m } }\n',
        'policies/policy.csv': withRules(
          shipped,
          'p, everyone, notes, list, fresh, *, allow\np, everyone, notes, list, !fresh, *, deny',
        ),
      },
    })
  })
  beforeEach(() => {
    clock = 0
  })
  after(async () => {
    await server.stop()
    await provider.stop()
  })

  async function expectFreshAlone(token: string): Promise<void> {
    expect((await server.ask('GET', '/api/v1/notes', { token })).status).to.equal(200)
    clock = 4 * 60_000
    const { status, headers } = await server.ask('GET', '/api/v1/notes', { token })
    expect(status).to.equal(401)
    expect(headers.get('www-authenticate')).to.contain('max_age="180"')
  }

  it('lets a password through while it is fresh, and asks for it again', async () => {
    const body = { email: 'alice@example.com', password: DEMO_PASSWORD }
    const { access_token: token } = (await server.ask('POST', '/api/tokens', { body })).body
    await expectFreshAlone(token)
    const again = await server.ask('POST', '/api/tokens', { body })
    const { status } = await server.ask('GET', '/api/v1/notes', { token: again.body.access_token })
    expect(status).to.equal(200)
  })

  it("lets a provider's person through while the sign-in is fresh, and no machine", async () => {
    await expectFreshAlone((await signInAs(provider.issuer, 'zoe')).access_token)
    clock = 0
    const machine = await tokenOf(provider.issuer, 'nightly-report')
    expect((await server.ask('GET', '/api/v1/notes', { token: machine })).status).to.equal(401)
  })
})
