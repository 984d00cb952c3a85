/** What a verified token is worth beside what the store knows of its subject and session. */
import { expect } from 'chai'
import type { Caller } from '../../src/decide/caller.ts'
import type { Authentication } from '../../src/identity/caller.ts'
import { createAccountCheck } from '../../src/identity/directory/account-status.ts'
import { fixedKeys } from '../../src/identity/keys/embedded/key-ring.ts'
import type { KeySource } from '../../src/identity/keys/verification-keys.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import type { AccountStatus, SessionStatus } from '../../src/store/directory.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { keySet, Loopback } from './loopback.ts'
import { AUDIENCE, asEmbedded, claims, ed25519, ISSUER } from './signer.ts'

const NOW = 1_000_000
const OPEN: SessionStatus = { roles: ['member'], disabled: false, deleted: false, sessionEndsAt: NOW + 1 }
const UNKNOWN: AccountStatus = { roles: undefined, disabled: false, deleted: false }

const caller: Caller = { id: 'alice', roles: ['admin'], claims: {} }
const plain: Authentication = { kind: 'caller', caller }
const ofSession: Authentication = { kind: 'caller', caller: { ...caller, session: 's1' } }

function check(authentication: Authentication, status: Partial<SessionStatus>) {
  const found = { ...OPEN, ...status }
  return createAccountCheck({ accountStatus: () => found, sessionStatus: () => found }, () => NOW)(authentication)
}

const refused = (reason: string) => ({ kind: 'rejected', code: 'token-invalid', reason, subject: 'alice' })

describe('the account status', () => {
  it('a session has the roles of the users record, whatever its token claims', () => {
    expect(check(ofSession, {})).to.deep.equal({
      kind: 'caller',
      caller: { ...caller, roles: ['member'], session: 's1' },
    })
    expect(check(ofSession, { roles: ['', 'user:bob', 'auditor'] }))
      .to.have.nested.property('caller.roles')
      .deep.equal(['auditor'])
  })

  it('a session is refused from the millisecond on at which it ends', () => {
    expect(check(ofSession, { sessionEndsAt: NOW })).to.deep.equal(refused('session ended'))
    expect(check(ofSession, { sessionEndsAt: 0 })).to.deep.equal(refused('session ended'))
  })

  it('a session without a users record is refused', () => {
    expect(check(ofSession, { roles: undefined })).to.deep.equal(refused('no such user'))
  })

  it('a token without a session keeps the roles that it claims, users record or not', () => {
    expect(check(plain, {})).to.equal(plain)
    expect(check(plain, UNKNOWN)).to.equal(plain)
  })

  for (const [name, authentication] of Object.entries({ 'a token': plain, 'a session': ofSession })) {
    it(`${name} of a user who is disabled or deleted is refused`, () => {
      expect(check(authentication, { disabled: true })).to.deep.equal(refused('user disabled'))
      expect(check(authentication, { deleted: true })).to.deep.equal(refused('user deleted'))
    })
  }

  it('what is no caller is not asked about', () => {
    const throwing = () => {
      throw new Error('asked')
    }
    const checkAccount = createAccountCheck({ accountStatus: throwing, sessionStatus: throwing }, () => NOW)
    const others: readonly Authentication[] = [
      { kind: 'anonymous' },
      { kind: 'rejected', code: 'token-expired', reason: 'expired' },
    ]
    for (const other of others) expect(checkAccount(other)).to.equal(other)
    expect(() => checkAccount(plain)).to.throw('asked')
  })

  it('comes later where the store needs time', async () => {
    const slow = { accountStatus: async () => UNKNOWN, sessionStatus: async () => OPEN }
    const checkAccount = createAccountCheck(slow, () => NOW)
    expect(checkAccount(plain)).to.be.a('promise')
    expect(await checkAccount(plain)).to.equal(plain)
    expect(await checkAccount(ofSession))
      .to.have.nested.property('caller.roles')
      .deep.equal(['member'])
  })
})

describe('the claim sid', () => {
  const signer = ed25519()
  let keys: Loopback
  before(async () => {
    keys = await Loopback.start(keySet(signer.jwk))
  })
  after(() => keys.stop())

  async function callerOf(source: KeySource, sid: unknown): Promise<Authentication> {
    const verifier = createTokenVerifier({ keys: source, issuer: ISSUER, audience: AUDIENCE })
    return verifier.verify(signer.token(claims({ sid })))
  }

  it('names a session in tokens of the embedded key', async () => {
    const source = { kind: 'embedded', keys: fixedKeys([await asEmbedded(signer)]) } as const
    expect(await callerOf(source, 's1')).to.have.nested.property('caller.session', 's1')
    expect(await callerOf(source, undefined)).not.to.have.nested.property('caller.session')
    for (const sid of ['', 1, null, ['s1'], {}, true, 'x'.repeat(129)]) {
      expect(await callerOf(source, sid)).to.deep.include({ kind: 'rejected', reason: 'unusable sid' })
    }
  })

  it("of other keys is another issuer's session, and means nothing here", async () => {
    for (const source of [
      { kind: 'jwks', url: keys.url },
      { kind: 'public-key', text: signer.pem },
    ] as const) {
      for (const sid of ['s1', 1]) {
        const found = await callerOf(source, sid)
        expect(found.kind).to.equal('caller')
        expect(found).not.to.have.nested.property('caller.session')
        expect(found).not.to.have.nested.property('caller.claims.sid')
      }
    }
  })
})

describe('the account status over HTTP', () => {
  let server: TestServer
  beforeEach(async () => {
    server = await startTestServer({ demo: true })
  })
  afterEach(() => server.stop())

  it('a refusal is 401 on every route, and the record says whose credential it was and why', async () => {
    const token = await server.token('alice', 'member')
    await server.app.directory.disable('alice')
    for (const [method, path] of [
      ['GET', '/api/v1/notes'],
      ['OPTIONS', '/api/v1/notes'],
      ['GET', '/livez'],
      ['GET', '/nowhere'],
    ] as const) {
      const { status, body } = await server.ask(method, path, { token })
      expect([status, body.code]).to.deep.equal(path === '/nowhere' ? [404, 'route-not-found'] : [401, 'token-invalid'])
      expect(await server.lastDecision({ method })).to.deep.include({
        authentication: 'rejected',
        subject: 'alice',
        reason: 'user disabled',
      })
    }
  })

  it('a store that does not answer lets nobody in: 503, and anonymous health is told', async () => {
    const token = await server.token('alice', 'member')
    expect((await server.ask('GET', '/api/v1/notes', { token })).status).to.equal(200)
    await server.app.store.close()
    const { status, headers } = await server.ask('GET', '/livez', { token })
    expect([status, headers.has('retry-after')]).to.deep.equal([503, true])
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
  })
})
