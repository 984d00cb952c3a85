import { expect } from 'chai'
import { exportJWK } from 'jose'
import { fixedKeys } from '../../src/identity/keys/embedded/key-ring.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { describeEachSource } from './each-source.ts'
import { keySet, Loopback } from './loopback.ts'
import { AUDIENCE, asEmbedded, claims, ed25519, ISSUER } from './signer.ts'

const signer = ed25519()
const attacker = ed25519()

describeEachSource('attacks through headers', signer, (verify) => {
  let elsewhere: Loopback

  before(async () => {
    elsewhere = await Loopback.start(keySet(attacker.jwk, { ...attacker.jwk, kid: signer.kid }))
  })
  after(() => elsewhere.stop())

  async function refuses(token: string): Promise<void> {
    expect(await verify(token)).to.equal('token-invalid')
  }

  it('a key embedded in the header (jwk, x5c)', async () => {
    const jwk = await exportJWK(attacker.publicKey)
    await refuses(attacker.token(claims(), { jwk }))
    await refuses(attacker.token(claims(), { jwk, kid: signer.kid }))
    await refuses(attacker.token(claims(), { kid: signer.kid, x5c: [String(jwk.x)] }))
    // Nor does it harm a token that the trusted key signed: what isn't read can't matter.
    expect(await verify(signer.token(claims(), { jwk }))).to.equal('caller alice')
  })

  it('a place of keys in the header (jku, x5u) is never asked', async () => {
    const headers = [{ jku: elsewhere.url }, { x5u: elsewhere.url }, { jku: elsewhere.url, x5u: elsewhere.url }]
    for (const header of headers) {
      await refuses(attacker.token(claims(), header))
      await refuses(attacker.token(claims(), { ...header, kid: signer.kid }))
      await refuses(attacker.token(claims({ iss: elsewhere.url }), header))
    }
    expect(elsewhere.connections).to.equal(0)
    await fetch(elsewhere.url)
    expect(elsewhere.connections).to.equal(1)
  })

  it('a kid that is a path, SQL, a URL or a name every object has', async () => {
    const kids = [
      '../../../../dev/null',
      '/proc/sys/kernel/randomize_va_space',
      'keys/signing.jwk\0.pem',
      "' UNION SELECT 'secret' --",
      '$(touch /tmp/x)',
      elsewhere.url,
      '__proto__',
      'constructor',
      'toString',
      '',
      'k'.repeat(6_000),
      'k'.repeat(10_240),
    ]
    const before = elsewhere.connections
    for (const kid of kids) await refuses(attacker.token(claims(), { kid }))
    for (const kid of [null, 0, true, ['k1'], { k1: 'k1' }]) await refuses(attacker.token(claims(), { kid }))
    expect(elsewhere.connections).to.equal(before)
  })

  it('an extension that must be understood (crit), known to jose or not', async () => {
    for (const header of [
      { crit: ['b64'], b64: true },
      { crit: ['b64'], b64: false },
      { crit: ['exp'], exp: 1 },
      { crit: ['x'], x: 1 },
      { crit: [] },
      { crit: null },
      { crit: 'b64' },
    ]) {
      await refuses(signer.token(claims(), header))
    }
  })

  it('a payload that is not encoded (RFC 7797)', async () => {
    await refuses(signer.token(claims(), { b64: false, crit: ['b64'] }))
    const [header, , signature] = signer.token(claims(), { b64: false }).split('.')
    await refuses(`${header}.${JSON.stringify(claims())}.${signature}`)
  })

  it('a token of another kind (typ)', async () => {
    for (const typ of ['id_token', 'logout+jwt', 'dpop+jwt', 'JOSE', 'secevent+jwt', '', 'jwt ', null, 1, ['JWT']]) {
      await refuses(signer.token(claims(), { typ }))
    }
  })

  it('typ absent, JWT and at+jwt, in any case and with the prefix, are no attack', async () => {
    for (const typ of [undefined, 'JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/JWT']) {
      expect(await verify(signer.token(claims(), { typ }))).to.equal('caller alice')
    }
  })
})

describe('reasons', () => {
  it('never repeat anything of the token, and say what is wrong', async () => {
    const key = await asEmbedded(signer)
    const verifier = createTokenVerifier({
      keys: { kind: 'embedded', keys: fixedKeys([key]) },
      issuer: ISSUER,
      audience: AUDIENCE,
    })
    const canary = 'canary-7f3a'
    const tokens = {
      'opaque, not a JWT': canary,
      'not three segments': `${canary}.${canary}`,
      'not canonical base64url': `${canary}.${canary}.!`,
      'the payload is not a strict JSON object': signer.token(`{"${canary}"`),
      'wrong typ': signer.token(claims(), { typ: canary }),
      crit: signer.token(claims(), { crit: [canary] }),
      ERR_JOSE_ALG_NOT_ALLOWED: signer.token(claims(), { alg: canary }),
      ERR_JWKS_NO_MATCHING_KEY: attacker.token(claims({ sub: canary }), { kid: canary }),
      ERR_JWS_SIGNATURE_VERIFICATION_FAILED: attacker.token(claims({ sub: canary })),
      'claim iss check_failed': signer.token(claims({ iss: canary })),
      'claim exp missing': signer.token(claims({ exp: undefined, [canary]: canary })),
      'unusable sub': signer.token(claims({ sub: `user:${canary}` })),
      'roles is not a list of strings': signer.token(claims({ roles: canary })),
    }
    for (const [reason, token] of Object.entries(tokens)) {
      expect(await verifier.verify(token)).to.deep.equal({ kind: 'rejected', code: 'token-invalid', reason })
    }
  })
})
