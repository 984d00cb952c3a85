/**
 * What an OpenID provider that is broken, or somebody else, can make the server do: nothing but ask two URLs, and wait
 * a little.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import { expect } from 'chai'
import type { Authentication, TokenVerifier } from '../../src/identity/caller.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { keySet, Loopback, provider, text } from './loopback.ts'
import { ask } from './outcome.ts'
import { AUDIENCE, claims, ed25519, encode, jwkOf } from './signer.ts'

const signer = ed25519()

describe('the discovery document of an OpenID provider', () => {
  let server: Loopback
  let elsewhere: Loopback
  beforeEach(async () => {
    server = await Loopback.start(keySet(signer.jwk))
    elsewhere = await Loopback.start(keySet(signer.jwk))
  })
  afterEach(async () => {
    await server.stop()
    await elsewhere.stop()
  })

  const found = (issuer = server.origin): Promise<Authentication> =>
    Promise.resolve(verifierOf(issuer).verify(signer.token(claims({ iss: issuer }))))
  const codeOf = async (issuer?: string) => {
    const outcome = await found(issuer)
    return outcome.kind === 'failed' ? outcome.code : outcome.kind
  }

  it('tells where the keys are, and is asked once with them', async () => {
    server.answer = provider(server, keySet(signer.jwk))
    const verifier = verifierOf(server.origin)
    for (let i = 0; i < 3; i++) {
      expect((await verifier.verify(signer.token(claims({ iss: server.origin })))).kind).to.equal('caller')
    }
    expect(server.requests).to.equal(2)
  })

  it('of an issuer with a path is below the path', async () => {
    for (const issuer of [`${server.origin}/realms/one`, `${server.origin}/realms/one/`]) {
      const asked: (string | undefined)[] = []
      const answer = text(JSON.stringify({ issuer, jwks_uri: server.url }))
      server.answer = (request, response) => {
        asked.push(request.url)
        if (request.url === '/keys') keySet(signer.jwk)(request, response)
        else answer(request, response)
      }
      expect(await codeOf(issuer)).to.equal('caller')
      expect(asked).to.deep.equal(['/realms/one/.well-known/openid-configuration', '/keys'])
    }
  })

  const others: Record<string, (origin: string) => unknown> = {
    'somebody else': () => 'https://login.example.com',
    'the same with a slash': (origin) => `${origin}/`,
    'the same in capitals': (origin) => origin.replace('http', 'HTTP'),
    'a list': (origin) => [origin],
    nobody: () => undefined,
  }
  for (const [name, issuer] of Object.entries(others)) {
    it(`that names as the issuer ${name} is not believed`, async () => {
      server.answer = provider(server, keySet(signer.jwk), { issuer: issuer(server.origin) })
      expect(await codeOf()).to.equal('key-server-invalid')
      expect(server.requests).to.equal(1)
    })
  }

  for (const url of [
    'http://keys.example.com/keys',
    'file:///etc/passwd',
    'data:application/json,{"keys":[]}',
    'https://user:secret@keys.example.com/',
    '/keys',
    '',
    7,
    null,
  ]) {
    it(`that names the keys' place ${JSON.stringify(url)} has it asked nowhere`, async () => {
      server.answer = provider(server, keySet(signer.jwk), { jwks_uri: url })
      const outcome = await found()
      expect(outcome).to.include({ kind: 'failed', code: 'key-server-invalid' })
      expect(server.requests).to.equal(1)
    })
  }

  it('that leads elsewhere is not followed, and neither are its keys', async () => {
    const away = text('', 302, { location: elsewhere.url })
    server.answer = away
    expect(await codeOf()).to.equal('key-server-invalid')
    server.answer = provider(server, away)
    expect(await codeOf()).to.equal('key-server-invalid')
    expect(elsewhere.connections).to.equal(0)
    await fetch(elsewhere.url)
    expect(elsewhere.connections).to.equal(1)
  })

  it('that is huge, or no JSON object, is put away', async () => {
    const huge = JSON.stringify({ issuer: server.origin, jwks_uri: server.url, x: 'x'.repeat(300_000) })
    for (const body of [huge, '[]', 'null', '"x"', '<html>', '', '{"issuer":']) {
      server.answer = text(body)
      expect(await codeOf(), body.slice(0, 20)).to.equal('key-server-invalid')
    }
  })

  it('that trickles is waited for no longer than the keys are', async () => {
    const end = new AbortController()
    server.answer = (_request, response) => {
      const timer = setInterval(() => response.write(' '), 100)
      end.signal.addEventListener('abort', () => clearInterval(timer))
    }
    const started = performance.now()
    expect(await codeOf()).to.equal('key-server-unavailable')
    expect(performance.now() - started).to.be.within(2_000, 60_000)
    end.abort()
  })

  it('that is missing is not asked for again by each request', async () => {
    server.answer = text('', 404)
    const verifier = verifierOf(server.origin)
    const tokens = Array.from({ length: 30 }, () => verifier.verify(signer.token(claims({ iss: server.origin }))))
    await Promise.all(tokens)
    for (let i = 0; i < 30; i++) await verifier.verify(signer.token(claims({ iss: server.origin })))
    expect(server.requests).to.be.at.most(2)
  })

  it('its weak key verifies nothing: 502', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const sound = jwkOf(publicKey, 'rsa')
    const input = `${encode({ alg: 'RS256', kid: 'rsa' })}.${encode(claims({ iss: server.origin }))}`
    const token = `${input}.${encode(sign('sha256', Buffer.from(input), privateKey))}`
    for (const [jwk, word] of [
      [{ ...sound, e: 'AQ' }, 'key-server-invalid'],
      [sound, 'caller alice'],
    ] as const) {
      server.answer = provider(server, keySet(jwk))
      expect(await ask(verifierOf(server.origin), token)).to.equal(word)
    }
  })

  function verifierOf(issuer: string): TokenVerifier {
    return createTokenVerifier({
      keys: { kind: 'openid', issuer },
      issuer,
      audience: AUDIENCE,
      claims: { subject: ['sub'], roles: ['roles'], subjectPrefix: '' },
    })
  }
})
