/** The 401, 502 and 503 rows of the status table, over real HTTP. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { keySet, Loopback, text } from './loopback.ts'
import { AUDIENCE, claims, ed25519, ISSUER, now } from './signer.ts'

const PRIVATE = '/api/v1/notes'
const PUBLIC = '/livez'

describe('credentials over HTTP', () => {
  const signer = ed25519()
  let keys: Loopback
  let server: TestServer

  before(async () => {
    keys = await Loopback.start(keySet(signer.jwk))
    const source = { kind: 'jwks', url: keys.url } as const
    server = await startTestServer({
      verifier: createTokenVerifier({ keys: source, issuer: ISSUER, audience: AUDIENCE }),
    })
  })
  after(async () => {
    await server.stop()
    await keys.stop()
  })

  it('none are 401 where some are needed, without an error (RFC 6750 section 3)', async () => {
    const { status, headers, body } = await server.ask('GET', PRIVATE)
    expect(status).to.equal(401)
    expect(headers.get('www-authenticate')).to.equal('Bearer realm="sallyport"')
    expect(body.code).to.equal('credentials-missing')
  })

  it('good ones are let in', async () => {
    const token = signer.token(claims({ roles: ['member'] }))
    expect((await server.ask('GET', PRIVATE, { token })).status).to.equal(200)
  })

  const bad = {
    'of another key': () => ed25519().token(claims({ roles: ['admin'] })),
    'that are expired': () => signer.token(claims({ exp: now() - 60 })),
    'that are no token': () => 'abc',
    'with alg none': () => `${signer.token(claims(), { alg: 'none' }).split('.').slice(0, 2).join('.')}.`,
  }
  for (const [name, make] of Object.entries(bad)) {
    for (const path of [PRIVATE, PUBLIC]) {
      it(`${name} are 401 on ${path}, with the error invalid_token`, async () => {
        const { status, headers, body } = await server.ask('GET', path, { token: make() })
        expect(status).to.equal(401)
        expect(headers.get('www-authenticate')).to.include('error="invalid_token"')
        expect(body.code).to.equal(name === 'that are expired' ? 'token-expired' : 'token-invalid')
      })
    }
  }

  it('in two Authorization headers are 401, in one they are let in', async () => {
    const line = `Authorization: Bearer ${signer.token(claims({ roles: ['member'] }))}`
    expect(await statusOf([line])).to.equal('HTTP/1.1 200 OK')
    expect(await statusOf([line, line])).to.equal('HTTP/1.1 401 Unauthorized')
    expect(await statusOf([line, 'authorization: Basic YTpi'])).to.equal('HTTP/1.1 401 Unauthorized')
    expect(await statusOf(['Authorization:', line])).to.equal('HTTP/1.1 401 Unauthorized')
  })

  it('while the key server is down are 503 with Retry-After, and never in the answer or the log', async () => {
    await withKeyServer(text('', 500), async (other) => {
      const token = signer.token(claims({ roles: ['member'] }))
      const { status, headers, body } = await other.ask('GET', PRIVATE, { token })
      expect(status).to.equal(503)
      expect(headers.get('retry-after')).to.match(/^\d+$/)
      expect(headers.has('www-authenticate')).to.equal(false)
      expect(body.code).to.equal('key-server-unavailable')
      expect(JSON.stringify([other.log, body])).not.to.include(token.split('.')[2])
    })
  })

  it('while the key server answers nonsense are 502', async () => {
    await withKeyServer(text('<html>'), async (other) => {
      const { status, body } = await other.ask('GET', PRIVATE, { token: signer.token() })
      expect(status).to.equal(502)
      expect(body.code).to.equal('key-server-invalid')
    })
  })

  async function withKeyServer(answer: Loopback['answer'], test: (server: TestServer) => Promise<void>): Promise<void> {
    const troubled = await Loopback.start(answer)
    const source = { kind: 'jwks', url: troubled.url } as const
    const verifier = createTokenVerifier({ keys: source, issuer: ISSUER, audience: AUDIENCE })
    const other = await startTestServer({ verifier })
    try {
      await test(other)
    } finally {
      await other.stop()
      await troubled.stop()
    }
  }

  async function statusOf(lines: readonly string[]): Promise<string> {
    const { port } = new URL(server.url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.write([`GET ${PRIVATE} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...lines, '', ''].join('\r\n'))
    const [answer] = await once(socket, 'data')
    socket.destroy()
    return String(answer).split('\r\n')[0] ?? ''
  }
})
