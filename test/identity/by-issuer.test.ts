/** Two issuers at one server: what one vouches for, with its keys, audience, algorithms and clock, is nothing for the other. */
import { expect } from 'chai'
import type { TokenVerifier } from '../../src/identity/caller.ts'
import { fixedKeys } from '../../src/identity/keys/embedded/key-ring.ts'
import { rememberTokens, verifyByIssuer } from '../../src/identity/tokens/remembered-tokens.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { keySet, Loopback, provider } from './loopback.ts'
import { ask } from './outcome.ts'
import { asEmbedded, claims, ed25519, encode, now } from './signer.ts'

const OWN = { iss: 'sallyport', aud: 'own' }
const own = ed25519('k1')
/** Its key has the name of the other issuer's. */
const theirs = ed25519('k1')

describe('a token of one of two issuers', () => {
  let server: Loopback
  let verifier: TokenVerifier
  let their: { readonly iss: string; readonly aud: string }

  before(async () => {
    server = await Loopback.start(keySet(theirs.jwk))
    server.answer = provider(server, server.answer)
    their = { iss: server.origin, aud: 'api' }
    const keys = { kind: 'embedded', keys: fixedKeys([await asEmbedded(own)]) } as const
    const names = { subject: ['sub'], roles: ['roles'], subjectPrefix: '' }
    verifier = verifyByIssuer(
      new Map([
        [OWN.iss, rememberTokens(createTokenVerifier({ keys, issuer: OWN.iss, audience: OWN.aud }))],
        [
          their.iss,
          rememberTokens(
            createTokenVerifier({
              keys: { kind: 'openid', issuer: their.iss },
              issuer: their.iss,
              audience: their.aud,
              claims: names,
            }),
          ),
        ],
      ]),
    )
  })
  after(() => server.stop())

  it('is verified by the keys of that one, and remembered', async () => {
    for (const token of [own.token(claims(OWN)), theirs.token(claims(their))]) {
      // Twice, because nothing is remembered before there are keys.
      for (let i = 0; i < 2; i++) expect(await ask(verifier, token)).to.equal('caller alice')
      expect(verifier.verify(token)).to.include({ kind: 'caller' })
    }
  })

  it('is refused when the other one signed it, under the same kid', async () => {
    expect(await ask(verifier, theirs.token(claims(OWN)))).to.equal('token-invalid')
    expect(await ask(verifier, own.token(claims(their)))).to.equal('token-invalid')
  })

  it('is refused for the audience of the other one', async () => {
    expect(await ask(verifier, own.token(claims({ ...OWN, aud: their.aud })))).to.equal('token-invalid')
    expect(await ask(verifier, theirs.token(claims({ ...their, aud: OWN.aud })))).to.equal('token-invalid')
  })

  it('has the clock of that one', async () => {
    expect(await ask(verifier, own.token(claims({ ...OWN, exp: now() - 2 })))).to.equal('token-expired')
    expect(await ask(verifier, theirs.token(claims({ ...their, exp: now() - 2 })))).to.equal('caller alice')
  })

  it('has a session where it was made here, and claims its own roles there alone', async () => {
    const said = { sid: 's1', roles: ['admin'] }
    const here = await verifier.verify(own.token(claims({ ...OWN, ...said })))
    const there = await verifier.verify(theirs.token(claims({ ...their, ...said })))
    if (here.kind !== 'caller' || there.kind !== 'caller') throw new Error('not both are callers')
    expect(here.caller).to.deep.include({ session: 's1', roles: ['admin'] })
    expect(there.caller).to.deep.include({ roles: [], provided: ['admin'] })
    expect(there.caller).to.not.have.property('session')
  })

  it('names neither of them, several, or none: refused, and nobody is asked', async () => {
    const before = server.requests
    const others = [
      '',
      `${OWN.iss} `,
      'SALLYPORT',
      [OWN.iss],
      [OWN.iss, their.iss],
      null,
      undefined,
      7,
      `${their.iss}/`,
      '__proto__',
    ]
    for (const iss of others) {
      for (const signer of [own, theirs]) {
        expect(await ask(verifier, signer.token(claims({ aud: OWN.aud, iss }))), String(iss)).to.equal('token-invalid')
      }
    }
    expect(server.requests).to.equal(before)
  })

  it('names both: refused, though signed by one of them', async () => {
    const twice = JSON.stringify(claims(OWN)).replace('{', `{"iss":${JSON.stringify(their.iss)},`)
    expect(await ask(verifier, own.token(twice))).to.equal('token-invalid')
    expect(await ask(verifier, theirs.token(encode(twice)))).to.equal('token-invalid')
  })
})
