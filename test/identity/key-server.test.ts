import { mock } from 'node:test'
import { expect } from 'chai'
import type { KeyedVerifier, TokenVerifier } from '../../src/identity/caller.ts'
import { rememberTokens } from '../../src/identity/tokens/remembered-tokens.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { elapse, keySet, Loopback, text } from './loopback.ts'
import { ask } from './outcome.ts'
import { AUDIENCE, claims, ed25519, ISSUER } from './signer.ts'

const signer = ed25519('first')
const next = ed25519('next')

describe('keys of a key server', () => {
  let server: Loopback
  let verifier: TokenVerifier

  beforeEach(async () => {
    server = await Loopback.start(keySet(signer.jwk))
    verifier = verifierOf(server.url)
  })
  afterEach(async () => {
    mock.timers.reset()
    await server.stop().catch(() => undefined)
  })

  it('are not asked for before a token needs them', async () => {
    await ask(verifier, 'no token')
    await ask(verifier, signer.token(claims(), { alg: 'none' }))
    expect(server.requests).to.equal(0)
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
    expect(server.requests).to.equal(1)
  })

  it('are asked for once, by many tokens at once and by those after them', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => ask(verifier, signer.token())))
    expect(new Set(outcomes)).to.deep.equal(new Set(['caller alice']))
    await ask(verifier, signer.token())
    expect(server.requests).to.equal(1)
  })

  it("an unknown kid is the token's fault, and made-up kids don't make the server be asked each time", async () => {
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
    for (let i = 0; i < 50; i++) {
      expect(await ask(verifier, signer.token(claims(), { kid: `made-up-${i}` }))).to.equal('token-invalid')
    }
    expect(server.requests).to.equal(1)
    elapse(11)
    for (let i = 0; i < 50; i++) {
      expect(await ask(verifier, signer.token(claims(), { kid: `made-up-${i}` }))).to.equal('token-invalid')
    }
    expect(server.requests).to.equal(2)
  })

  it('that the server adds are found', async () => {
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
    server.answer = keySet(signer.jwk, next.jwk)
    elapse(11)
    expect(await ask(verifier, next.token())).to.equal('caller alice')
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
    expect(server.requests).to.equal(2)
  })

  it('that the server took away count no more after ten minutes', async () => {
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
    server.answer = keySet(next.jwk)
    elapse(590)
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
    elapse(11)
    expect(await ask(verifier, signer.token())).to.equal('token-invalid')
  })

  it('that the server took away count no more after ten minutes, for tokens that are remembered either', async () => {
    const remembering = rememberTokens(verifierOf(server.url))
    const token = signer.token()
    for (const _ of [1, 2]) expect(await ask(remembering, token)).to.equal('caller alice')
    server.answer = keySet(next.jwk)
    elapse(590)
    expect(await ask(remembering, token)).to.equal('caller alice')
    elapse(11)
    expect(await ask(remembering, token)).to.equal('token-invalid')
  })

  it('that the server took away count no more once a new one is in use', async () => {
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
    server.answer = keySet(next.jwk)
    elapse(11)
    expect(await ask(verifier, next.token())).to.equal('caller alice')
    expect(await ask(verifier, signer.token())).to.equal('token-invalid')
  })

  it('that are known are used while the server is down', async () => {
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
    await server.stop()
    elapse(11)
    expect(await ask(verifier, next.token())).to.equal('key-server-unavailable')
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
  })

  it('are asked for at most once in ten seconds while the server is down, whatever kids are made up', async () => {
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
    server.answer = text('', 500)
    for (let seconds = 11; seconds <= 31; seconds++) {
      elapse(seconds === 11 ? 11 : 1)
      for (let i = 0; i < 5; i++) {
        const madeUp = signer.token(claims(), { kid: `made-up-${seconds}-${i}` })
        expect(await ask(verifier, madeUp)).to.equal('key-server-unavailable')
      }
    }
    // At 11, 21 and 31 seconds.
    expect(server.requests).to.equal(4)
  })

  it('are not lost when the server answers nonsense later', async () => {
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
    server.answer = text('<html>')
    elapse(11)
    expect(await ask(verifier, next.token())).to.equal('key-server-invalid')
    expect(await ask(verifier, signer.token())).to.equal('caller alice')
  })

  it('without a kid in the token there must be one that fits', async () => {
    const anonymous = () => signer.token(claims(), { kid: undefined })
    expect(await ask(verifier, anonymous())).to.equal('caller alice')
    server.answer = keySet(signer.jwk, next.jwk)
    expect(await ask(verifierOf(server.url), anonymous())).to.equal('token-invalid')
  })

  it('of kinds that are not known, or for encryption, stand beside the others', async () => {
    const strange = [{}, { kty: 'new' }, { kty: 'oct', k: 'c2VjcmV0', kid: 'first' }]
    const unfit = [{ use: 'enc' }, { key_ops: ['encrypt'] }, { key_ops: [] }, { key_ops: 'verify' }, { alg: 'ES256' }]
    for (const members of unfit) {
      server.answer = keySet(...strange, { ...next.jwk, ...members }, signer.jwk)
      const other = verifierOf(server.url)
      expect(await ask(other, signer.token())).to.equal('caller alice')
      expect(await ask(other, next.token()), JSON.stringify(members)).to.equal('token-invalid')
    }
    server.answer = keySet({ ...next.jwk, use: 'sig', key_ops: ['verify'], alg: 'EdDSA' })
    expect(await ask(verifier, next.token())).to.equal('caller alice')
  })
})

function verifierOf(url: string): KeyedVerifier {
  return createTokenVerifier({ keys: { kind: 'jwks', url }, issuer: ISSUER, audience: AUDIENCE })
}
