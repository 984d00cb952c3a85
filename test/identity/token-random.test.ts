import { expect } from 'chai'
import fc from 'fast-check'
import type { TokenVerifier } from '../../src/identity/caller.ts'
import { fixedKeys } from '../../src/identity/keys/embedded/key-ring.ts'
import type { KeySource } from '../../src/identity/keys/verification-keys.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { ANY_CHARACTER } from '../any-character.ts'
import { keySet, Loopback } from './loopback.ts'
import { AUDIENCE, asEmbedded, claims, ed25519, encode, ISSUER } from './signer.ts'

const CHARACTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+/= \n"\0é']

describe('any token at all', () => {
  const signer = ed25519()
  const good = signer.token(claims({ roles: ['member'] }))
  const verifiers: TokenVerifier[] = []
  let keys: Loopback

  before(async () => {
    keys = await Loopback.start(keySet(signer.jwk))
    const sources: readonly KeySource[] = [
      { kind: 'embedded', keys: fixedKeys([await asEmbedded(signer)]) },
      { kind: 'public-key', text: signer.pem },
      { kind: 'jwks', url: keys.url },
    ]
    for (const source of sources) {
      verifiers.push(createTokenVerifier({ keys: source, issuer: ISSUER, audience: AUDIENCE }))
    }
    for (const verifier of verifiers) expect((await verifier.verify(good)).kind).to.equal('caller')
  })
  after(() => keys.stop())

  async function isRejected(token: string): Promise<void> {
    for (const verifier of verifiers) expect((await verifier.verify(token)).kind).to.equal('rejected')
  }

  it('that is a random string is rejected, and nothing throws', async () => {
    await fc.assert(fc.asyncProperty(fc.string({ unit: ANY_CHARACTER, maxLength: 300 }), isRejected), { numRuns: 500 })
  })

  it('that is three random segments is rejected, and nothing throws', async () => {
    const segment = fc.oneof(fc.uint8Array({ maxLength: 80 }).map(encode), fc.json().map(encode))
    const token = fc.tuple(segment, segment, segment).map((segments) => segments.join('.'))
    await fc.assert(fc.asyncProperty(token, isRejected), { numRuns: 500 })
  })

  it('that a stranger made with a random header and payload is rejected, and nothing throws', async () => {
    const stranger = ed25519()
    const members = ['alg', 'kid', 'typ', 'crit', 'jwk', 'jku', 'x5u', 'x5c', 'b64', 'cty', 'zip', 'enc', 'epk']
    const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('EdDSA', 'none', 'HS256', 'RS256', 'k1'))
    const header = fc.dictionary(fc.constantFrom(...members), value, { maxKeys: 5 })
    const payload = fc.dictionary(fc.constantFrom('iss', 'sub', 'exp', 'roles', '__proto__'), value)
    await fc.assert(
      fc.asyncProperty(header, payload, (h, p) => isRejected(stranger.token(claims(p), h))),
      { numRuns: 500 },
    )
  })

  it('that the trusted key signed with random claims is a caller or rejected, and nothing throws', async () => {
    const names = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'roles', '__proto__', 'department']
    const changes = fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
    await fc.assert(
      fc.asyncProperty(changes, async (change) => {
        for (const verifier of verifiers) {
          const { kind } = await verifier.verify(signer.token(claims(change)))
          expect(kind).to.be.oneOf(['caller', 'rejected'])
        }
      }),
      { numRuns: 300 },
    )
  })

  it('with one character changed, wherever, is rejected', async () => {
    const change = fc.tuple(fc.nat({ max: good.length - 1 }), fc.constantFrom(...CHARACTERS))
    await fc.assert(
      fc.asyncProperty(change, async ([place, character]) => {
        fc.pre(good[place] !== character)
        await isRejected(good.slice(0, place) + character + good.slice(place + 1))
      }),
      { numRuns: 1_000 },
    )
  })

  it('with the last character of a segment changed, to whatever, is rejected', async () => {
    const ends = [good.indexOf('.') - 1, good.lastIndexOf('.') - 1, good.length - 1]
    for (const end of ends) {
      for (const character of CHARACTERS.filter((one) => one !== good[end])) {
        await isRejected(good.slice(0, end) + character + good.slice(end + 1))
      }
    }
  })

  it('with a character added or taken away, wherever, is rejected', async () => {
    const change = fc.tuple(fc.nat({ max: good.length - 1 }), fc.constantFrom('', ...CHARACTERS))
    await fc.assert(
      fc.asyncProperty(change, ([place, character]) => {
        const rest = character === '' ? good.slice(place + 1) : good.slice(place)
        return isRejected(good.slice(0, place) + character + rest)
      }),
      { numRuns: 500 },
    )
  })
})
