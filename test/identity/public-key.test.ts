import { createSign, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { expect } from 'chai'
import { fixedKeys } from '../../src/identity/keys/embedded/key-ring.ts'
import { KeyError } from '../../src/identity/keys/key-error.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { ask } from './outcome.ts'
import { AUDIENCE, asEmbedded, claims, ed25519, encode, ISSUER, jwkOf, pemOf } from './signer.ts'

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve })
const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ED = ed25519()

describe('a configured public key', () => {
  const accepted = {
    EdDSA: ED,
    Ed25519: ED,
    RS256: RSA,
    RS384: RSA,
    RS512: RSA,
    PS256: RSA,
    PS384: RSA,
    PS512: RSA,
    ES256: ec('P-256'),
    ES384: ec('P-384'),
    ES512: ec('P-521'),
  }
  for (const [alg, { privateKey, publicKey }] of Object.entries(accepted)) {
    it(`verifies ${alg}, as PEM and as JWK`, async () => {
      const jwk = JSON.stringify(jwkOf(publicKey, 'k1'))
      for (const text of [pemOf(publicKey), jwk, ` ${jwk}\n`]) {
        expect(await ask(verifierOf(text), token(alg, privateKey))).to.equal('caller alice')
      }
    })
  }

  it('does not verify with an algorithm of another kind of key', async () => {
    const verifier = verifierOf(pemOf(accepted.ES256.publicKey))
    for (const [alg, { privateKey }] of Object.entries(accepted)) {
      if (alg !== 'ES256') expect(await ask(verifier, token(alg, privateKey))).to.equal('token-invalid')
    }
  })

  it('verifies only with the algorithms that are configured', async () => {
    const verifier = verifierOf(pemOf(RSA.publicKey), ['PS256'])
    expect(await ask(verifier, token('PS256', RSA.privateKey))).to.equal('caller alice')
    expect(await ask(verifier, token('RS256', RSA.privateKey))).to.equal('token-invalid')
  })

  it('verifies only with the algorithm that the JWK names', async () => {
    const verifier = verifierOf(JSON.stringify({ ...jwkOf(RSA.publicKey, 'k1'), alg: 'RS512', use: 'sig' }))
    expect(await ask(verifier, token('RS512', RSA.privateKey))).to.equal('caller alice')
    expect(await ask(verifier, token('RS256', RSA.privateKey))).to.equal('token-invalid')
  })

  it('verifies with a JWK whose operations include verify', async () => {
    const verifier = verifierOf(JSON.stringify({ ...ED.jwk, use: 'sig', key_ops: ['verify'] }))
    expect(await ask(verifier, token('EdDSA', ED.privateKey))).to.equal('caller alice')
  })

  const forgeable = ['none', 'None', 'NONE', 'HS256', 'HS384', 'HS512', 'hs256', 'A128KW', 'RSA1_5', '', '*', 'EdDSA ']
  for (const algorithm of forgeable) {
    it(`the algorithm \`${algorithm}\` stops the start, whatever the key`, async () => {
      const key = await asEmbedded(ED)
      const sources = [
        { kind: 'embedded', keys: fixedKeys([key]) },
        { kind: 'public-key', text: pemOf(RSA.publicKey) },
        { kind: 'jwks', url: 'http://127.0.0.1:9/' },
      ] as const
      for (const keys of sources) {
        for (const algorithms of [[algorithm], ['EdDSA', algorithm]]) {
          const start = () => createTokenVerifier({ keys, issuer: ISSUER, audience: AUDIENCE, algorithms })
          expect(start).to.throw(
            KeyError,
            /^JWT_ALGORITHMS has "[^"]*", which these keys can't verify; list some of [A-Z]/,
          )
        }
      }
    })
  }

  it('no algorithm at all stops the start', () => {
    expect(() => verifierOf(ED.pem, [])).to.throw(KeyError, 'JWT_ALGORITHMS is empty; list some of EdDSA')
  })
})

describe('an empty issuer or audience', () => {
  it('stops the start', () => {
    const keys = { kind: 'public-key', text: ED.pem } as const
    expect(() => createTokenVerifier({ keys, issuer: '', audience: AUDIENCE })).to.throw(
      KeyError,
      'JWT_ISSUER is empty',
    )
    expect(() => createTokenVerifier({ keys, issuer: ISSUER, audience: '' })).to.throw(
      KeyError,
      'JWT_AUDIENCE is empty',
    )
  })
})

describe('a public key that is no use stops the start', () => {
  const rsaJwk = jwkOf(RSA.publicKey, 'k1')
  const useless = {
    'RSA of 1024 bits': [pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey), 'is a weak RSA key'],
    'RSA of 2040 bits': [pemOf(generateKeyPairSync('rsa', { modulusLength: 2040 }).publicKey), 'is a weak RSA key'],
    'RSA with exponent 1': [JSON.stringify({ ...rsaJwk, e: 'AQ' }), 'is a weak RSA key'],
    'RSA with exponent 2': [JSON.stringify({ ...rsaJwk, e: 'Ag' }), 'is a weak RSA key'],
    'RSA with an even exponent': [JSON.stringify({ ...rsaJwk, e: 'AQAA' }), 'is a weak RSA key'],
    'a private PEM': [ED.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 'holds a private key'],
    'a private JWK': [JSON.stringify(ED.privateKey.export({ format: 'jwk' })), 'holds a private key'],
    'a private JWK without its exponent': [
      JSON.stringify({ ...RSA.privateKey.export({ format: 'jwk' }), d: undefined }),
      'holds a private key',
    ],
    'a shared secret': ['{"kty":"oct","k":"c2VjcmV0"}', 'is not a public key'],
    'a JWK of encryption': [JSON.stringify({ ...rsaJwk, use: 'enc' }), "can't verify tokens"],
    'a JWK whose operation is encrypt': [JSON.stringify({ ...rsaJwk, key_ops: ['encrypt'] }), "can't verify tokens"],
    'a JWK whose operation is sign': [JSON.stringify({ ...ED.jwk, key_ops: ['sign'] }), "can't verify tokens"],
    'a JWK without any operation': [JSON.stringify({ ...ED.jwk, key_ops: [] }), "can't verify tokens"],
    'a JWK whose operations are no list': [JSON.stringify({ ...ED.jwk, key_ops: 'verify' }), "can't verify tokens"],
    'a JWK of encryption that may verify': [
      JSON.stringify({ ...rsaJwk, use: 'enc', key_ops: ['verify'] }),
      "can't verify tokens",
    ],
    "a JWK of another curve's algorithm": [
      JSON.stringify({ ...jwkOf(ec('P-256').publicKey, 'k1'), alg: 'ES384' }),
      "can't verify tokens",
    ],
    'a JWK of another algorithm': [JSON.stringify({ ...rsaJwk, alg: 'RSA-OAEP' }), "can't verify tokens"],
    'X25519, which signs nothing': [pemOf(generateKeyPairSync('x25519').publicKey), "can't verify tokens"],
    'a curve that JOSE lists for blockchains': [pemOf(ec('secp256k1').publicKey), "can't verify tokens"],
    'RSA-PSS alone': [pemOf(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey), "can't verify tokens"],
    'a point that is not on its curve': [
      JSON.stringify({ ...jwkOf(ec('P-256').publicKey, 'k1'), x: 'AAAA' }),
      'is not a',
    ],
    'a JWK with a name that stands twice': [JSON.stringify(ED.jwk).replace('{', '{"x":"AAAA",'), 'is not a public key'],
    text: ['my key', 'is not a public key'],
    'half a PEM': [ED.pem.slice(0, 60), 'is not a public key'],
  } as const
  for (const [name, [text, sentence]] of Object.entries(useless)) {
    it(name, () => {
      expect(() => verifierOf(text)).to.throw(KeyError, `JWT_PUBLIC_KEY ${sentence}`)
    })
  }

  it('and the error does not repeat the key', () => {
    const pem = ED.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    expect(() => verifierOf(pem)).to.throw(KeyError, /^[^\n]+set it to the public key$/)
  })
})

describe('a weak key, without the check', () => {
  it('verifies a token that nobody signed: with exponent 1 a signature is its own message', async () => {
    const { jwtVerify, importJWK } = await import('jose')
    const jwk = { ...jwkOf(RSA.publicKey, 'k1'), e: 'AQ' }
    const input = `${encode({ alg: 'RS256' })}.${encode(claims())}`
    const forged = `${input}.${encode(ownMessage(input))}`
    expect(await jwtVerify(forged, await importJWK(jwk, 'RS256')).then(...answers)).to.equal('accepted')
    expect(await jwtVerify(forged, RSA.publicKey).then(...answers)).to.equal('refused')
  })
})

const answers = [() => 'accepted', () => 'refused'] as const

/** EMSA-PKCS1-v1_5 of SHA-256 (RFC 8017 section 9.2), made by "decrypting" a real signature with the public key. */
function ownMessage(input: string): Buffer {
  const signature = createSign('sha256').update(input).sign(RSA.privateKey)
  const { n = '', e = '' } = RSA.publicKey.export({ format: 'jwk' })
  const [modulus, exponent, base] = [Buffer.from(n, 'base64url'), Buffer.from(e, 'base64url'), signature].map(numberOf)
  return Buffer.from(
    power(base ?? 0n, exponent ?? 0n, modulus ?? 1n)
      .toString(16)
      .padStart(512, '0'),
    'hex',
  )
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus
    if (bit === '1') result = (result * base) % modulus
  }
  return result
}

function numberOf(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`)
}

function verifierOf(text: string, algorithms?: readonly string[]) {
  return createTokenVerifier({ keys: { kind: 'public-key', text }, issuer: ISSUER, audience: AUDIENCE, algorithms })
}

/** A token signed as its `alg` says (RFC 7518 section 3.1, RFC 8037). */
function token(alg: string, privateKey: KeyObject): string {
  const input = `${encode({ alg, kid: 'k1' })}.${encode(claims())}`
  const hash = alg.startsWith('Ed') ? null : `sha${alg.slice(2)}`
  const options = { key: privateKey, dsaEncoding: 'ieee-p1363' as const, ...(alg.startsWith('PS') ? PSS : {}) }
  return `${input}.${encode(sign(hash, Buffer.from(input), options))}`
}

/** RSA_PKCS1_PSS_PADDING, and a salt as long as the digest. */
const PSS = { padding: 6, saltLength: -1 }
