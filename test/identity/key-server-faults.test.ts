import { generateKeyPairSync, sign } from 'node:crypto'
import { mock } from 'node:test'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { TokenVerifier } from '../../src/identity/caller.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { elapse, keySet, Loopback, text } from './loopback.ts'
import { ask, wordOf } from './outcome.ts'
import { AUDIENCE, claims, ed25519, encode, ISSUER, jwkOf } from './signer.ts'

const signer = ed25519('first')

describe('a key server in trouble', () => {
  let server: Loopback
  beforeEach(async () => {
    server = await Loopback.start(keySet(signer.jwk))
  })
  afterEach(async () => {
    mock.timers.reset()
    await server.stop().catch(() => undefined)
  })

  const unavailable = {
    'status 500': text('', 500),
    'status 503': text('{"keys":[]}', 503),
    'status 429': text('', 429),
    'a connection that breaks before the answer': (request) => request.socket.destroy(),
    'a connection that breaks inside the answer': (request, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('{"keys":[')
      setTimeout(() => request.socket.destroy(), 20)
    },
  } satisfies Record<string, Loopback['answer']>
  for (const [name, answer] of Object.entries(unavailable)) {
    it(`${name}: unavailable, not the token's fault`, async () => {
      server.answer = answer
      expect(await ask(verifierOf(server.url), signer.token())).to.equal('key-server-unavailable')
    })
  }

  it('nobody listens: unavailable', async () => {
    await server.stop()
    expect(await ask(verifierOf(server.url), signer.token())).to.equal('key-server-unavailable')
  })

  it('no answer, or one that trickles: unavailable within the time-out', async () => {
    server.answer = () => undefined
    const trickle = await Loopback.start((_request, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write(' '), 100)
      response.on('close', () => clearInterval(timer))
    })
    const started = performance.now()
    const asked = [server, trickle].map(({ url }) => ask(verifierOf(url), signer.token()))
    expect(await Promise.all(asked)).to.deep.equal(['key-server-unavailable', 'key-server-unavailable'])
    expect(performance.now() - started).to.be.within(2_500, 60_000)
    await trickle.stop()
  })

  const jwk = JSON.stringify(signer.jwk)
  const invalid = {
    'an empty body': text(''),
    'no content': text('', 204),
    HTML: text('<html></html>'),
    'half a key set': text(`{"keys":[${jwk}`),
    'a key instead of a set': text(jwk),
    'a list instead of a set': text(`[${jwk}]`),
    null: text('null'),
    'keys that are no list': text(`{"keys":${jwk}}`),
    'keys that are no objects': text('{"keys":["first",null]}'),
    'status 404': text(`{"keys":[${jwk}]}`, 404),
    'status 401': text('', 401),
    'more than 256 KiB': text(`{"keys":[${jwk}],"padding":"${'x'.repeat(300_000)}"}`),
    'endless bytes': (_request, response) => void endless(response),
    'a small answer that unpacks to a large one': (_request, response) => {
      const packed = gzipSync(`{"keys":[${jwk}],"padding":"${'x'.repeat(50_000_000)}"}`)
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed)
    },
    'a private key': keySet({ ...signer.privateKey.export({ format: 'jwk' }), kid: 'first' }),
    'a key of the wrong length': keySet({ ...signer.jwk, x: 'AAAA' }),
    'a key without its numbers': keySet({ kty: 'OKP', crv: 'Ed25519', kid: 'first' }),
  } satisfies Record<string, Loopback['answer']>
  for (const [name, answer] of Object.entries(invalid)) {
    it(`${name}: nonsense, not the token's fault`, async () => {
      server.answer = answer
      expect(await ask(verifierOf(server.url), signer.token())).to.equal('key-server-invalid')
    })
  }

  for (const status of [301, 302, 303, 307, 308]) {
    it(`a redirect (${status}) is not followed`, async () => {
      const elsewhere = await Loopback.start(keySet(signer.jwk))
      server.answer = text('', status, { location: elsewhere.url })
      expect(await ask(verifierOf(server.url), signer.token())).to.equal('key-server-invalid')
      expect(elsewhere.connections).to.equal(0)
      expect((await fetch(server.url)).status).to.equal(200)
      expect(elsewhere.connections).to.equal(1)
      await elsewhere.stop()
    })
  }

  for (const [name, weak] of Object.entries(weakKeys())) {
    it(`${name}: nonsense, though the signature fits`, async () => {
      server.answer = keySet(weak.jwk)
      expect(await ask(verifierOf(server.url), weak.token)).to.equal('key-server-invalid')
    })
  }

  it('does not turn what needs no key into its own fault', async () => {
    server.answer = text('', 500)
    const verifier = verifierOf(server.url)
    expect(await ask(verifier, signer.token(claims(), { alg: 'none' }))).to.equal('token-invalid')
    expect(await ask(verifier, 'abc')).to.equal('token-invalid')
    expect(server.requests).to.equal(0)
  })

  for (const [name, answer, outcome] of [
    ['trouble', text('', 500), 'key-server-unavailable'],
    ['nonsense', text('<html>'), 'key-server-invalid'],
  ] as const) {
    it(`is left alone for ten seconds after ${name}, then asked again`, async () => {
      server.answer = answer
      const verifier = verifierOf(server.url)
      for (let i = 0; i < 30; i++) expect(await ask(verifier, signer.token())).to.equal(outcome)
      expect(server.requests).to.equal(1)
      server.answer = keySet(signer.jwk)
      elapse(9)
      expect(await ask(verifier, signer.token())).to.equal(outcome)
      elapse(2)
      expect(await ask(verifier, signer.token())).to.equal('caller alice')
      expect(server.requests).to.equal(2)
    })
  }

  it('the cause is kept for the log, without anything of the token', async () => {
    server.answer = text('', 500)
    const authentication = await verifierOf(server.url).verify(signer.token(claims({ sub: 'canary' })))
    if (authentication.kind !== 'failed') throw new Error(wordOf(authentication))
    expect(authentication.cause).to.be.instanceOf(Error)
    expect(String(authentication.cause)).to.equal('Error: status 500')
  })
})

function verifierOf(url: string): TokenVerifier {
  return createTokenVerifier({ keys: { kind: 'jwks', url }, issuer: ISSUER, audience: AUDIENCE })
}

async function endless(response: Parameters<Loopback['answer']>[1]): Promise<void> {
  response.writeHead(200).write('{"keys":[')
  while (!response.destroyed) {
    response.write(' '.repeat(65_536))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

interface Weak {
  readonly jwk: unknown
  readonly token: string
}

function weakKeys(): Readonly<Record<string, Weak>> {
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const long = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const input = `${encode({ alg: 'RS256', kid: 'weak' })}.${encode(claims())}`
  const token = (key: typeof short) => `${input}.${encode(sign('sha256', Buffer.from(input), key.privateKey))}`
  return {
    'an RSA key of 1024 bits': { jwk: jwkOf(short.publicKey, 'weak'), token: token(short) },
    'an RSA key with exponent 1': { jwk: { ...jwkOf(long.publicKey, 'weak'), e: 'AQ' }, token: token(long) },
    'an RSA key without a modulus': { jwk: { kty: 'RSA', n: '', e: 'AQAB', kid: 'weak' }, token: token(long) },
  }
}
