import { createHmac, createSign, generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { describeEachSource } from './each-source.ts'
import { claims, ed25519, encode } from './signer.ts'

const signer = ed25519()
const attacker = ed25519()

describeEachSource('attacks on signatures', signer, (verify) => {
  async function refuses(token: string): Promise<void> {
    expect(await verify(token)).to.equal('token-invalid')
  }

  const [, payload = '', signature = ''] = signer.token().split('.')
  const input = (header: object) => `${encode({ kid: signer.kid, ...header })}.${encode(claims())}`

  for (const alg of ['none', 'None', 'NONE', 'nOnE', 'none ', '', 'eddsa', 'EDDSA']) {
    it(`alg \`${alg}\` with any signature`, async () => {
      await refuses(`${input({ alg })}.`)
      await refuses(`${input({ alg })}.${signature}`)
      await refuses(signer.token(claims(), { alg }))
    })
  }

  it('alg that is missing or no string', async () => {
    for (const alg of [undefined, null, 0, true, ['EdDSA'], { toString: 'EdDSA' }]) {
      await refuses(signer.token(claims(), { alg }))
    }
  })

  it('alg that is a name every object has', async () => {
    for (const alg of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      await refuses(signer.token(claims(), { alg }))
    }
  })

  it('an empty signature', () => refuses(`${input({ alg: 'EdDSA' })}.`))

  it('a signature of zeros, of ones, cut short or with a byte too many', async () => {
    const bytes = Buffer.from(signature, 'base64url')
    const wrong = [Buffer.alloc(64), Buffer.alloc(64, 1), bytes.subarray(0, 63), Buffer.concat([bytes, bytes])]
    for (const one of wrong) await refuses(`${input({ alg: 'EdDSA' })}.${encode(one)}`)
  })

  it('HMAC with the public key as its secret, in every form that the key has', async () => {
    const der = signer.publicKey.export({ type: 'spki', format: 'der' })
    const raw = Buffer.from(String(signer.jwk.x), 'base64url')
    const secrets = [signer.pem, signer.pem.trim(), der, raw, JSON.stringify(signer.jwk), String(signer.jwk.x), '']
    for (const secret of secrets) {
      for (const [alg, hash] of Object.entries({ HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' })) {
        const signed = input({ alg })
        await refuses(`${signed}.${encode(createHmac(hash, secret).update(signed).digest())}`)
      }
    }
  })

  it('another key', () => refuses(attacker.token()))

  it('another key under the trusted kid', () => refuses(attacker.token(claims(), { kid: signer.kid })))

  it('another key of another kind under the trusted kid', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const signed = input({ alg: 'RS256' })
    await refuses(`${signed}.${encode(createSign('sha256').update(signed).sign(privateKey))}`)
  })

  it('the payload of one token with the signature of another', async () => {
    const other = signer.token(claims({ sub: 'ada', roles: ['admin'] }))
    const [header, changed] = other.split('.')
    await refuses(`${header}.${changed}.${signature}`)
    await refuses(`${header}.${payload}.${other.split('.')[2]}`)
  })

  it('the header of one token with the signature of another', () =>
    refuses(`${encode({ alg: 'EdDSA', kid: signer.kid, typ: 'JWT' })}.${payload}.${signature}`))

  it('a token inside a token', () => refuses(signer.token(signer.token(), { cty: 'JWT' })))
})
