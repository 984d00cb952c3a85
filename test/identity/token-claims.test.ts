import { expect } from 'chai'
import type { Caller } from '../../src/decide/caller.ts'
import type { TokenVerifier } from '../../src/identity/caller.ts'
import { fixedKeys } from '../../src/identity/keys/embedded/key-ring.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { ask } from './outcome.ts'
import { AUDIENCE, asEmbedded, claims, ed25519, ISSUER, now } from './signer.ts'

describe('the claims of a token', () => {
  const signer = ed25519()
  let embedded: TokenVerifier
  let configured: TokenVerifier

  before(async () => {
    const expected = { issuer: ISSUER, audience: AUDIENCE }
    embedded = createTokenVerifier({
      keys: { kind: 'embedded', keys: fixedKeys([await asEmbedded(signer)]) },
      ...expected,
    })
    configured = createTokenVerifier({ keys: { kind: 'public-key', text: signer.pem }, ...expected })
  })

  function outcome(changes: Readonly<Record<string, unknown>>): Promise<string> {
    return ask(embedded, signer.token(claims(changes)))
  }

  async function callerOf(payload: string | Readonly<Record<string, unknown>>): Promise<Caller> {
    const authentication = await embedded.verify(signer.token(payload))
    if (authentication.kind !== 'caller') throw new Error(JSON.stringify(authentication))
    return authentication.caller
  }

  it('expired is told apart from invalid', async () => {
    expect(await outcome({ exp: now() - 1 })).to.equal('token-expired')
    expect(await outcome({ exp: 0 })).to.equal('token-expired')
    expect(await outcome({ exp: -1 })).to.equal('token-expired')
    expect(await outcome({ exp: now() + 60 })).to.equal('caller alice')
  })

  it('an expired token of another key, issuer or audience is invalid', async () => {
    expect(await ask(embedded, ed25519().token(claims({ exp: 1 })))).to.equal('token-invalid')
    expect(await outcome({ exp: 1, iss: 'x' })).to.equal('token-invalid')
    expect(await outcome({ exp: 1, aud: 'x' })).to.equal('token-invalid')
  })

  it('the own clock is taken at its word; another machine gets five seconds', async () => {
    const late = signer.token(claims({ exp: now() - 2 }))
    expect(await ask(embedded, late)).to.equal('token-expired')
    expect(await ask(configured, late)).to.equal('caller alice')
    expect(await ask(configured, signer.token(claims({ exp: now() - 6 })))).to.equal('token-expired')
    const early = signer.token(claims({ nbf: now() + 3 }))
    expect(await ask(embedded, early)).to.equal('token-invalid')
    expect(await ask(configured, early)).to.equal('caller alice')
    expect(await ask(configured, signer.token(claims({ nbf: now() + 60 })))).to.equal('token-invalid')
  })

  it('not before: now is fine, later and what is no number is not', async () => {
    expect(await outcome({ nbf: now() })).to.equal('caller alice')
    for (const nbf of [now() + 60, String(now()), null, []]) expect(await outcome({ nbf })).to.equal('token-invalid')
    expect(await ask(embedded, signer.token(withNumber('nbf', '1e999')))).to.equal('token-invalid')
  })

  it('exp that is missing, text or no date', async () => {
    const faulty = [undefined, null, String(now() + 60), '', true, [now() + 60], {}, Date.now() + 60_000, 1e15, 1e300]
    for (const exp of faulty) expect(await outcome({ exp })).to.equal('token-invalid')
  })

  it('exp beyond all numbers is not a token for ever', async () => {
    expect(await ask(embedded, signer.token(withNumber('exp', '1e999')))).to.equal('token-invalid')
    expect(await ask(embedded, signer.token(withNumber('exp', '-1e999')))).to.equal('token-expired')
    expect(await ask(embedded, signer.token(withNumber('exp', '4e9')))).to.equal('caller alice')
  })

  it('audience: ours, or a list that has ours', async () => {
    for (const aud of [AUDIENCE, [AUDIENCE], ['other', AUDIENCE]]) {
      expect(await outcome({ aud })).to.equal('caller alice')
    }
    const wrong = [undefined, null, 'other', '', `${AUDIENCE} `, AUDIENCE.toUpperCase(), [], ['other'], [[AUDIENCE]]]
    for (const aud of wrong) expect(await outcome({ aud })).to.equal('token-invalid')
    expect(await outcome({ aud: { [AUDIENCE]: AUDIENCE } })).to.equal('token-invalid')
  })

  it('issuer: exactly ours', async () => {
    for (const iss of [
      undefined,
      null,
      '',
      'other',
      `${ISSUER}/`,
      `${ISSUER}.evil.example`,
      [ISSUER],
      ISSUER.slice(1),
    ]) {
      expect(await outcome({ iss })).to.equal('token-invalid')
    }
  })

  const subjects = {
    missing: undefined,
    null: null,
    'a number': 7,
    'a list': ['alice'],
    'an object': { toString: 'alice' },
    empty: '',
    'longer than 128 characters': 'x'.repeat(129),
    'with a null': 'alice\0',
    'with a line break': 'alice\r\nlevel=info',
    'with an escape character': '\u001b[2J',
    'with half a character': 'alice\ud800',
    'like a user in a policy': 'user:ada',
    'like a user alone': 'user:',
  }
  for (const [name, sub] of Object.entries(subjects)) {
    it(`a subject that is ${name} is refused`, async () => {
      expect(await outcome({ sub })).to.equal('token-invalid')
    })
  }

  it('a subject as identity providers have them is taken as it is', async () => {
    for (const id of [
      'auth0|5f7c',
      'a@example.com',
      '00u1:2',
      'admin',
      '__proto__',
      'Ünï 😀',
      'USER:x',
      'x'.repeat(128),
    ]) {
      expect((await callerOf(claims({ sub: id }))).id).to.equal(id)
    }
  })

  it('when and how the caller signed in; a claim of another form counts as missing', async () => {
    const signInOf = async (changes: Readonly<Record<string, unknown>>) => {
      const { authTime, acr } = await callerOf(claims(changes))
      return { authTime, acr }
    }
    const missing = { authTime: undefined, acr: undefined }
    expect(await signInOf({})).to.deep.equal(missing)
    expect(await signInOf({ auth_time: 1_700_000_000, acr: 'urn:example:mfa' })).to.deep.equal({
      authTime: 1_700_000_000_000,
      acr: 'urn:example:mfa',
    })
    for (const auth_time of ['1700000000', null, true, [1_700_000_000], {}, Date.now(), '2026-11-20T10:00:00Z']) {
      expect(await signInOf({ auth_time }), String(auth_time)).to.deep.equal(missing)
    }
    for (const acr of [1, null, '', ['urn:example:mfa'], {}]) expect(await signInOf({ acr })).to.deep.equal(missing)
    for (const number of ['1e999', '-1e999']) {
      expect((await callerOf(withNumber('auth_time', number))).authTime, number).to.equal(undefined)
    }
  })

  it('roles: none when absent, the list as it is otherwise', async () => {
    expect((await callerOf(claims())).roles).to.deep.equal([])
    expect((await callerOf(claims({ roles: ['member', 'nobody-declared-this'] }))).roles).to.deep.equal([
      'member',
      'nobody-declared-this',
    ])
  })

  it('roles that look like a user are dropped, the others stay', async () => {
    const { roles } = await callerOf(claims({ roles: ['user:ada', 'member', '', 'user:'] }))
    expect(roles).to.deep.equal(['member'])
  })

  it('roles that are no list of strings are refused, not read as none', async () => {
    for (const roles of ['admin', '', null, 7, { 0: 'admin' }, [['admin']], ['admin', 7], [null]]) {
      expect(await outcome({ roles })).to.equal('token-invalid')
    }
  })

  it('other claims are attributes, without those that have a meaning', async () => {
    const payload = claims({ roles: [], iat: now(), jti: 'x', nbf: now(), department: 'billing', scope: 'a b' })
    expect({ ...(await callerOf(payload)).claims }).to.deep.equal({ department: 'billing', scope: 'a b' })
  })

  it('attributes have no prototype, so no attribute is there that nobody claimed', async () => {
    const { claims: attributes } = await callerOf(claims())
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      expect(attributes[name]).to.equal(undefined)
    }
  })

  it('a claim called __proto__ is a claim and sets no prototype', async () => {
    const payload = JSON.stringify(claims()).replace('{', '{"__proto__":{"department":"board","roles":["admin"]},')
    const caller = await callerOf(payload)
    expect(caller.claims.department).to.equal(undefined)
    expect(caller.roles).to.deep.equal([])
    expect(Object.hasOwn(caller.claims, '__proto__')).to.equal(true)
    expect(Object.getPrototypeOf(caller.claims)).to.equal(null)
    expect(({} as Record<string, unknown>).department).to.equal(undefined)
  })

  it('roles, subject or expiry do not come from a prototype', async () => {
    const payload = JSON.stringify({ __own: 1, ...claims({ sub: undefined, exp: undefined }) })
    const inherited = payload.replace('"__own":1', `"__proto__":{"sub":"ada","exp":${now() + 60}}`)
    expect(await ask(embedded, signer.token(inherited))).to.equal('token-invalid')
  })

  it('a caller never changes', async () => {
    const caller = await callerOf(claims({ roles: ['member'], department: 'billing' }))
    expect([caller, caller.roles, caller.claims].every(Object.isFrozen)).to.equal(true)
  })
})

/** A payload with a number as JSON can write it and JavaScript can't. */
function withNumber(name: string, literal: string): string {
  const rest = JSON.stringify(claims({ [name]: undefined }))
  return rest.replace('{', `{"${name}":${literal},`)
}
