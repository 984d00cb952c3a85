/** Credentials are answered for over HTTP without a word of them in the log or in the answer. */
import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { KeyError } from '../../src/identity/keys/key-error.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'
import { keySet, Loopback, text } from './loopback.ts'
import { AUDIENCE, claims, ed25519, ISSUER, jwkOf, now } from './signer.ts'

const signer = ed25519()
const sound = () => signer.token(claims({ roles: ['member'] }))

/** A header Authorization, the reply of the key server, and what comes of them. */
const CASES = {
  'a good token': [() => `Bearer ${sound()}`, keySet(signer.jwk), '200'],
  'an expired token': [
    () => `Bearer ${signer.token(claims({ exp: now() - 60 }))}`,
    keySet(signer.jwk),
    'token-expired',
  ],
  'a token of another key': [() => `Bearer ${ed25519().token()}`, keySet(signer.jwk), 'token-invalid'],
  'a token of another issuer': [
    () => `Bearer ${signer.token(claims({ iss: 'x' }))}`,
    keySet(signer.jwk),
    'token-invalid',
  ],
  'a token that is nested too deeply': [() => `Bearer ${deep()}`, keySet(signer.jwk), 'token-invalid'],
  'a token under another scheme': [() => `Basic ${sound()}`, keySet(signer.jwk), 'token-invalid'],
  'two tokens joined by a comma': [() => `Bearer ${sound()}, Bearer ${sound()}`, keySet(signer.jwk), 'token-invalid'],
  'a token while the key server is down': [() => `Bearer ${sound()}`, text('', 500), 'key-server-unavailable'],
  'a token while the key server talks nonsense': [() => `Bearer ${sound()}`, text('<html>'), 'key-server-invalid'],
  'a token whose key is broken': [
    () => `Bearer ${signer.token(claims(), { alg: 'RS256' })}`,
    keySet({ ...jwkOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey, signer.kid), n: undefined }),
    'key-server-invalid',
  ],
} as const satisfies Record<string, readonly [() => string, Loopback['answer'], string]>

describe('the log and the answer', () => {
  let keys: Loopback
  let server: TestServer
  beforeEach(async () => {
    keys = await Loopback.start(keySet())
    const source = { kind: 'jwks', url: keys.url } as const
    const verifier = createTokenVerifier({ keys: source, issuer: ISSUER, audience: AUDIENCE })
    server = await startTestServer({ verifier })
  })
  afterEach(async () => {
    await server.stop()
    await keys.stop()
  })

  for (const [name, [credentials, reply, outcome]] of Object.entries(CASES)) {
    it(`have nothing of ${name}`, async () => {
      keys.answer = reply
      const authorization = credentials()
      const answer = await server.ask('GET', '/api/v1/notes', { headers: { authorization } })
      expect(answer.body.code ?? String(answer.status)).to.equal(outcome)
      const records = await server.decisions()
      expect(records).to.have.length(1)
      expect(leaks(authorization, [...server.log, ...records], answer)).to.deep.equal([])
    })
  }

  it('would be found to have it', async () => {
    const token = sound()
    const answer = await server.ask('GET', '/livez')
    const careless = [...(await server.decisions()), { msg: `refused ${token}` }]
    expect(leaks(`Bearer ${token}`, careless, answer)).to.deep.equal(token.split('.'))
  })
})

describe('a password in the URL of the key server', () => {
  for (const url of ['http://user:word@127.0.0.1:9/', 'http://user@127.0.0.1:9/', 'http://:word@127.0.0.1:9/']) {
    it(`stops the start, and isn't repeated (${new URL(url).username || 'no name'})`, () => {
      const start = () => createTokenVerifier({ keys: { kind: 'jwks', url }, issuer: ISSUER, audience: AUDIENCE })
      expect(start).to.throw(KeyError, /^JWT_JWKS_URL has a user name or password; [^@]*$/)
    })
  }
})

/** The parts of the credentials, long enough to be no accident, that stand in the log or in the answer. */
function leaks(authorization: string, log: readonly unknown[], answer: Answer): readonly string[] {
  const written = JSON.stringify([log, [...answer.headers], answer.text])
  const parts = authorization.split(/[\s,.]+/).filter((part) => part.length > 16)
  expect(parts.length).to.be.at.least(3)
  return parts.filter((part) => written.includes(part))
}

function deep(): string {
  return signer.token(`{"a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`)
}
