/** Which claims of a provider's token say who it is and what it is, and which tokens of the same keys are no access tokens. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Caller } from '../../src/decide/caller.ts'
import type { Authentication } from '../../src/identity/caller.ts'
import { claimAt, readClaimPath, readOpenIdSettings } from '../../src/identity/tokens/openid-settings.ts'
import { readProviderClaims } from '../../src/identity/tokens/read-claims.ts'
import { claims } from './signer.ts'

const BASE = { OIDC_ISSUER: 'https://login.example.com/realms/one', OIDC_AUDIENCE: 'https://api.example.com' }

describe('claims of an OpenID provider', () => {
  it('are named as providers nest them', () => {
    const token = {
      roles: ['plain'],
      realm_access: { roles: ['realm'] },
      resource_access: { 'my.app': { roles: ['client'] } },
      'https://example.com/roles': ['url'],
      'a/b': ['slash'],
    }
    const at = (text: string) => claimAt(token, readClaimPath(text) ?? ['?'])
    expect(at('roles')).to.deep.equal(['plain'])
    expect(at('realm_access.roles')).to.deep.equal(['realm'])
    expect(at('/resource_access/my.app/roles')).to.deep.equal(['client'])
    expect(at('https://example.com/roles')).to.deep.equal(['url'])
    expect(at('/a~1b')).to.deep.equal(['slash'])
    expect(at('resource_access.my.app.roles')).to.equal(undefined)
    for (const faulty of ['', '.', 'a.', '.a', 'a..b', '/', '/a/']) expect(readClaimPath(faulty)).to.equal(undefined)
  })

  it('are never what every object has', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'roles.length', 'roles.0', '/roles/0', 'sub.length']) {
      expect(claimAt({ sub: 'x', roles: ['x'] }, readClaimPath(name) ?? []), name).to.equal(undefined)
    }
  })

  it('of any token give a caller or a refusal, never an error and never a role', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), fc.jsonValue(), (other, sub, roles) => {
        const found = read({ ...other, ...claims(), sub, roles: roles })
        if (found.kind === 'caller') expect(found.caller.roles).to.deep.equal([])
        else expect(found.kind).to.equal('rejected')
      }),
    )
  })

  it('one value or a list of them; anything else is refused, not read as none', () => {
    expect(callerOf({ roles: 'eng' }).provided).to.deep.equal(['eng'])
    expect(callerOf({ roles: ['eng', ''] }).provided).to.deep.equal(['eng', ''])
    expect(callerOf({ roles: undefined }).provided).to.deep.equal([])
    for (const roles of [{}, 7, true, [1], [['eng']], { eng: true }])
      expect(reasonOf({ roles })).to.match(/roles claim/)
  })

  it('name the subject: the claim that is set, with the prefix that is set', () => {
    const env = { OIDC_SUBJECT_CLAIM: 'preferred_username', OIDC_SUBJECT_PREFIX: 'corp:' }
    expect(callerOf({ preferred_username: 'alice', sub: '1' }, env).id).to.equal('corp:alice')
    for (const preferred_username of [undefined, null, '', 7, ['alice'], 'x'.repeat(124)]) {
      expect(reasonOf({ preferred_username }, env)).to.equal('unusable sub')
    }
    expect(reasonOf({ sub: 'user:alice' })).to.equal('unusable sub')
  })

  it('an e-mail address that is the subject is none while the provider says that it is not verified', () => {
    const env = { OIDC_SUBJECT_CLAIM: 'email', OIDC_SUBJECT_PREFIX: 'corp:' }
    for (const email_verified of [undefined, true, 'true'])
      expect(callerOf({ email: 'a@example.com', email_verified }, env).id).to.equal('corp:a@example.com')
    for (const email_verified of [false, 'false', null, 0, ''])
      expect(reasonOf({ email: 'a@example.com', email_verified }, env)).to.match(/not verified/)
    expect(callerOf({ email: 'a@example.com', email_verified: false }).id).to.equal('alice')
  })

  it('a session of the provider is none of this server', () => {
    expect(callerOf({ sid: '0000' }).session).to.equal(undefined)
  })
})

describe('OIDC_ settings', () => {
  const refused: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ OIDC_ISSUER: 'https://login.example.com' }, /OIDC_AUDIENCE/],
    [{ OIDC_AUDIENCE: 'x' }, /without OIDC_ISSUER/],
    [{ ...BASE, OIDC_CLIENT_ID: 'x' }, /OIDC_CLIENT_ID is not a setting/],
    [{ ...BASE, OIDC_ISSUER: 'http://login.example.com' }, /https/],
    [{ ...BASE, OIDC_ISSUER: 'http://127.0.0.1.example.com' }, /https/],
    [{ ...BASE, OIDC_ISSUER: 'login.example.com' }, /https/],
    [{ ...BASE, OIDC_ISSUER: 'https://user:secret@login.example.com' }, /password/],
    [{ ...BASE, OIDC_ISSUER: 'https://login.example.com?a=b' }, /query/],
    [{ ...BASE, OIDC_ISSUER: 'https://login.example.com#a' }, /fragment/],
    [{ ...BASE, OIDC_ISSUER: 'https://own.example.com' }, /the same/],
    [{ ...BASE, OIDC_ROLES_CLAIM: 'a..b' }, /OIDC_ROLES_CLAIM/],
    [{ ...BASE, OIDC_SUBJECT_CLAIM: '/' }, /OIDC_SUBJECT_CLAIM/],
    [{ ...BASE, OIDC_SUBJECT_PREFIX: 'user:' }, /OIDC_SUBJECT_PREFIX/],
    [{ ...BASE, OIDC_SUBJECT_CLAIM: 'email' }, /OIDC_SUBJECT_PREFIX is not set/],
    [{ ...BASE, OIDC_SUBJECT_CLAIM: 'oid' }, /OIDC_SUBJECT_PREFIX is not set/],
  ]
  for (const [env, message] of refused) {
    it(`${JSON.stringify(env)} are refused`, () => {
      expect(() => readOpenIdSettings(env, 'https://own.example.com'))
        .to.throw(message)
        .with.property('message')
        .that.does.not.include('secret')
    })
  }

  it('take another claim than sub for the id where somebody has said whether to put a prefix before it', () => {
    for (const prefix of ['corp:', '']) {
      const env = { ...BASE, OIDC_SUBJECT_CLAIM: 'oid', OIDC_SUBJECT_PREFIX: prefix }
      expect(readOpenIdSettings(env, 'sallyport')?.claims.subjectPrefix).to.equal(prefix)
    }
    expect(readOpenIdSettings({ ...BASE, OIDC_SUBJECT_CLAIM: 'sub' }, 'sallyport')?.claims.subjectPrefix).to.equal('')
  })

  it('say when and how the caller signed in, as in every token', () => {
    expect(callerOf({ auth_time: 1_700_000_000, acr: 'urn:example:mfa' })).to.include({
      authTime: 1_700_000_000_000,
      acr: 'urn:example:mfa',
    })
    const other = callerOf({ auth_time: '1700000000', acr: ['urn:example:mfa'] })
    expect([other.authTime, other.acr]).to.deep.equal([undefined, undefined])
  })

  it('are few, with presets; http is for this machine alone', () => {
    expect(readOpenIdSettings({}, 'sallyport')).to.equal(undefined)
    expect(readOpenIdSettings(BASE, 'sallyport')?.claims).to.deep.equal({
      subject: ['sub'],
      roles: ['roles'],
      subjectPrefix: '',
    })
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      const issuer = `http://${host}:4000`
      expect(readOpenIdSettings({ ...BASE, OIDC_ISSUER: issuer }, 'sallyport')?.issuer).to.equal(issuer)
    }
  })
})

function read(token: Record<string, unknown>, env: Record<string, string> = {}): Authentication {
  const settings = readOpenIdSettings({ ...BASE, ...env }, 'sallyport')
  if (!settings) throw new Error('no settings')
  return readProviderClaims(token, settings.claims, { sessions: false, toleranceSeconds: 5 })
}

function callerOf(changes: Record<string, unknown>, env?: Record<string, string>): Caller {
  const found = read({ ...claims(changes) }, env)
  if (found.kind !== 'caller') throw new Error(JSON.stringify(found))
  return found.caller
}

function reasonOf(changes: Record<string, unknown>, env?: Record<string, string>): string {
  const found = read({ ...claims(changes) }, env)
  return found.kind === 'rejected' ? found.reason : found.kind
}
