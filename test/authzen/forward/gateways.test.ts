/** Real nginx and real Caddy with the example configurations: only what was decided reaches the application. */
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, createServer } from 'node:net'
import { expect } from 'chai'
import fc from 'fast-check'
import { freePort } from '../../redis.ts'
import { type Callers, tokensOf } from '../../request/callers.ts'
import { converse, type RawAnswer, request } from '../../request/raw.ts'
import { drawing, runs } from '../../runs.ts'
import { type AskedServer, startAskedServer } from './asking.ts'
import { type Application, GATEWAYS, type Gateway, type GatewayName, startApplication } from './gateways.ts'
import { isPlain, PIECES } from './paths.ts'

const IDENTITY = ['x-sallyport-subject', 'x-sallyport-roles', 'x-sallyport-revision', 'x-sallyport-request'] as const

/** What a client sends to be somebody else, or to have another request decided than the application gets. */
const SPOOFED = [
  'X-Forwarded-Method: OPTIONS',
  'X-Forwarded-Uri: /api/orders',
  'X-Forwarded-Uri: /api/orders',
  'X-Original-Method: OPTIONS',
  'X-Original-URI: /api/orders',
  'X-Original-URL: /api/orders',
  'X-Rewrite-URL: /api/orders',
  'X-HTTP-Method-Override: DELETE',
  'X-Method-Override: DELETE',
  'X-Sallyport-Key: sp_stolen',
  'X-Sallyport-Subject: ada',
  'x-sallyport-SUBJECT: ada',
  'X_Sallyport_Subject: ada',
  'X.Sallyport.Subject: ada',
  'X-Sallyport_Subject: ada',
  'X-Sallyport-Roles: admin',
]

/** Headers that frameworks take a method, a path, a host or an address from, or the client's identity. */
const MISLEADING = [
  ...['Method', 'URI', 'URL', 'Host', 'Path', 'Forwarded-For'].map((name) => `X-Original-${name}`),
  ...['Method', 'Uri', 'Path', 'Prefix', 'Host', 'Port', 'Server', 'Scheme', 'Ssl'].map(
    (name) => `X-Forwarded-${name}`,
  ),
  ...['X-Rewrite-URL', 'X-Rewrite-URI', 'X-Override-URL', 'X-HTTP-Method-Override', 'X-HTTP-Method'],
  ...['X-Method-Override', 'X-Method', 'X-Host', 'X-Script-Name', 'X-Envoy-Original-Path', 'Forwarded', 'Proxy'],
  ...['X-Real-IP', 'X-Client-IP', 'X-Cluster-Client-IP', 'True-Client-IP', 'CF-Connecting-IP', 'Fastly-Client-IP'],
  ...['X-Envoy-External-Address', 'X-ProxyUser-IP', ...IDENTITY],
  ...[
    'X-Forwarded',
    'X-Forwarded-Protocol',
    'X-Url-Scheme',
    'X-Scheme',
    'Front-End-Https',
    'Forwarded-For',
    'Client-IP',
  ],
  ...['X-Originating-IP', 'X-Remote-IP', 'X-Remote-Addr', 'X-Sendfile-Type', 'X-Accel-Mapping'],
]

/** With other marks in place of each `-`, also of the last one alone, as WSGI, Rack and PHP read names. */
function spellings(name: string): readonly string[] {
  const others = ['_', '.', '~'].flatMap((mark) => [name.replaceAll('-', mark), name.replace(/-(?=[^-]*$)/, mark)])
  return [...new Set([name, name.toLowerCase(), ...others])]
}

const UPGRADES = [
  ['Connection: close, Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'],
  ['Connection: close, upgrade', 'upgrade: h2c'],
  ['Connection: close, Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
]

/** nginx makes 500 of every refusal but 401 and 403, so it is told 403. */
const NOT_FOUND = { nginx: 403, caddy: 404 } as const
const NOT_ACCEPTED = { nginx: 403, caddy: 405 } as const

const PAIR = {
  nginx: ['X-Original-Method', 'X-Original-URI'],
  caddy: ['X-Forwarded-Method', 'X-Forwarded-Uri'],
} as const

async function send(gateway: Gateway, line: string, headers: readonly string[] = [], body = ''): Promise<RawAnswer> {
  const { answers } = await converse(gateway.url, [Buffer.from(request(line, headers, body), 'latin1')], {
    patience: 20_000,
  })
  const [answer] = answers
  if (!answer) throw new Error(`no answer to ${line}`)
  return answer
}

const bearer = (token: string) => `Authorization: Bearer ${token}`

describe('a real gateway', () => {
  let server: AskedServer
  let callers: Callers
  let application: Application
  const started = new Map<GatewayName, Gateway>()

  before(async () => {
    server = await startAskedServer()
    callers = await tokensOf(server)
    application = await startApplication()
    const behind = { sallyport: new URL(server.url).host, application: application.at, key: server.key }
    for (const [name, start] of Object.entries(GATEWAYS)) started.set(name as GatewayName, await start(behind))
  })

  beforeEach(() => application.forget())

  after(async () => {
    for (const gateway of started.values()) await gateway.stop()
    await application.stop()
    await server.stop()
  })

  for (const name of Object.keys(GATEWAYS) as GatewayName[]) {
    const at = () => started.get(name) as Gateway

    it(`${name} passes on what is granted, with the client's identity`, async () => {
      const { status, text } = await send(at(), 'GET /api/orders?limit=1&x=%2F', [bearer(callers.sam)])
      expect([status, text]).to.deep.equal([200, 'from the application'])
      const [one, ...more] = application.received
      expect(more).to.deep.equal([])
      expect([one?.method, one?.url]).to.deep.equal(['GET', '/api/orders?limit=1&x=%2F'])
      const record = await server.lastDecision({ subject: 'sam' })
      expect(record).to.deep.include({
        route: '/api/orders',
        subject: 'sam',
        forwarded: { profile: name, gateway: 'edge' },
      })
      const identity = IDENTITY.map((header) => one?.headers.get(header))
      expect(identity).to.deep.equal([['sam'], ['member,support'], [record?.revision], [record?.requestId]])
      expect(one?.headers.has('x-sallyport-key')).to.equal(false)
    })

    it(`${name} refuses what the policy refuses, and the application hears nothing`, async () => {
      const anonymous = await send(at(), 'GET /api/orders')
      expect([anonymous.status, anonymous.headers['www-authenticate']]).to.deep.equal([401, 'Bearer realm="sallyport"'])
      for (const [line, token, status] of [
        ['GET /api/orders', `${callers.sam}x`, 401],
        ['POST /api/orders', callers.audrey, 403],
        ['GET /api/v1/notes', callers.sam, 200],
        ['GET /nowhere', callers.ada, NOT_FOUND[name]],
        ['GET /livez', callers.ada, NOT_FOUND[name]],
        ['PROPFIND /api/orders', callers.ada, NOT_ACCEPTED[name]],
      ] as const) {
        expect((await send(at(), line, [bearer(token)])).status, line).to.equal(status)
      }
      expect(application.received.map(({ url }) => url)).to.deep.equal(['/api/v1/notes'])
    })

    it(`${name} doesn't believe headers of its client`, async () => {
      // The spoofed ones would be granted to everybody.
      expect((await send(at(), 'DELETE /api/orders/1', SPOOFED)).status).to.equal(401)
      expect((await send(at(), 'POST /api/orders', [...SPOOFED, bearer(callers.audrey)])).status).to.equal(403)
      expect(application.received).to.deep.equal([])
      // Granted to everybody, so that the identity is empty: nothing of the client's takes its place.
      for (const [line, token, subject] of [
        ['OPTIONS /api/orders', undefined, ''],
        ['GET /api/orders', callers.sam, 'sam'],
      ] as const) {
        application.forget()
        const headers = token === undefined ? SPOOFED : [...SPOOFED, bearer(token)]
        expect((await send(at(), line, headers)).status).to.equal(200)
        const names = [...(application.received[0]?.headers.keys() ?? [])]
        expect(names.filter((one) => /sallyport/.test(one) && !IDENTITY.includes(one as never))).to.deep.equal([])
        expect(names.filter((one) => /original|rewrite|override|-uri|-method/.test(one))).to.deep.equal([])
        // nginx passes on no empty header.
        expect(application.received[0]?.headers.get('x-sallyport-subject')?.join('|') ?? '').to.equal(subject)
      }
    })

    it(`${name} passes on no header that an application may take for what was decided`, async () => {
      const ask = (headers: readonly string[]) =>
        send(at(), 'GET /api/orders', [bearer(callers.sam), ...headers.map((one) => `${one}: spoofed`)])
      for (const misleading of MISLEADING) {
        application.forget()
        expect((await ask(['X-Own', ...spellings(misleading)])).status, misleading).to.equal(200)
        const got = [...(application.received[0]?.headers ?? [])].filter(([, values]) => values.includes('spoofed'))
        // The negative control: other headers pass.
        expect(got.map(([one]) => one)).to.deep.equal(['x-own'])
      }
    })

    it(`${name} keeps the identity, whatever \`Connection\` names`, async () => {
      const connection = `Connection: close, ${IDENTITY.join(', ')}, X-Sallyport-Key, ${PAIR[name].join(', ')}`
      expect((await send(at(), 'GET /api/orders', [bearer(callers.sam), connection])).status).to.equal(200)
      expect(application.received[0]?.headers.get('x-sallyport-subject')).to.deep.equal(['sam'])
    })

    it(`${name} opens no tunnel to the application, in which nothing would be decided`, async () => {
      for (const upgrade of UPGRADES) {
        application.forget()
        const { status } = await send(at(), 'GET /api/orders', [bearer(callers.sam), ...upgrade])
        expect([status, application.upgraded], upgrade.join()).to.deep.equal([200, []])
        expect([...(application.received[0]?.headers.keys() ?? [])]).not.to.include('upgrade')
        // The negative control: without the gateway, there is one.
        await upgradedAt(application, upgrade)
        expect(application.upgraded).to.deep.equal(['/api/orders'])
      }
    })

    it(`${name} decides about a body by its headers, and passes it on`, async () => {
      for (const [framing, body] of [
        ['Content-Length: 13', '{"total": 10}'],
        ['Transfer-Encoding: chunked', 'd\r\n{"total": 10}\r\n0\r\n\r\n'],
      ] as const) {
        application.forget()
        const headers = [bearer(callers.alice), 'Content-Type: application/json', framing]
        expect((await send(at(), 'POST /api/orders', headers, body)).status).to.equal(200)
        expect(application.received[0]?.body).to.equal('{"total": 10}')
      }
    })

    it(`${name}: two credentials are none`, async () => {
      const twice = await send(at(), 'GET /api/orders', [bearer(callers.sam), bearer(callers.ada)])
      // nginx refuses this by itself.
      expect(twice.status).to.equal(name === 'nginx' ? 400 : 401)
      expect(application.received).to.deep.equal([])
    })

    it(`${name}: headers that are too large for the server are refused`, async () => {
      const large = ['a', 'b', 'c'].map((one) => `X-${one}: ${one.repeat(6000)}`)
      const { status } = await send(at(), 'GET /api/orders', [bearer(callers.sam), ...large])
      expect(status).to.equal(name === 'nginx' ? 500 : 431)
      expect(application.received).to.deep.equal([])
    })
  }

  it('the application gets the very path that was decided, whatever a client sends', async () => {
    const piece = fc.constantFrom(...PIECES)
    const target = fc.array(piece, { maxLength: 5 }).map((pieces) => `/api/orders${pieces.join('')}`)
    const seen = { passed: 0, refused: 0 }
    const asked = urisAskedOf(server)
    await drawing(
      () =>
        fc.assert(
          fc.asyncProperty(target, fc.constantFrom(...(Object.keys(GATEWAYS) as GatewayName[])), async (path, name) => {
            application.forget()
            const gateway = started.get(name) as Gateway
            const { status } = await send(gateway, `GET ${path}`, [bearer(callers.sam)])
            const urls = application.received.map(({ url }) => url)
            const decided = asked.splice(0)
            expect(urls, `${name} ${status} ${decided}`).to.deep.equal(decided.filter(isPlain))
            seen[urls.length > 0 ? 'passed' : 'refused'] += 1
          }),
          { numRuns: runs(240), examples: PIECES.flatMap((one) => examplesOf(`/api/orders${one}`)) },
        ),
      () => {
        // The negative control: it sees both ends.
        expect(Math.min(seen.passed, seen.refused)).to.be.greaterThan(2)
      },
    )
  })

  it('a server that is down, slow, or no Sallyport refuses everything', async () => {
    const silent = createServer((socket) => void socket.on('error', () => undefined))
    const nonsense = createServer((socket) => void socket.on('error', () => undefined).end('SSH-2.0-x\r\n'))
    const listen = (one: typeof silent) =>
      new Promise<string>((resolve) => {
        one.listen(0, '127.0.0.1', () => resolve(`127.0.0.1:${(one.address() as { port: number }).port}`))
      })
    const places = { down: `127.0.0.1:${await freePort()}`, slow: await listen(silent), other: await listen(nonsense) }
    const cases = Object.entries(places).flatMap(([what, sallyport]) =>
      Object.entries(GATEWAYS).map(async ([name, start]) => {
        const gateway = await start({ sallyport, application: application.at, key: server.key })
        try {
          const { status } = await send(gateway, 'OPTIONS /api/orders', [bearer(callers.ada)])
          expect(status, `${name} ${what}`).to.be.within(500, 504)
        } finally {
          await gateway.stop()
        }
      }),
    )
    await Promise.all(cases)
    for (const one of [silent, nonsense]) one.close()
    expect(application.received).to.deep.equal([])
  })

  it('a gateway without a key, or with a key of somebody else, gets nothing', async () => {
    const sallyport = new URL(server.url).host
    for (const [name, start] of Object.entries(GATEWAYS)) {
      for (const key of ['', await server.addKey('robot', 'admin')]) {
        const gateway = await start({ sallyport, application: application.at, key })
        const { status } = await send(gateway, 'OPTIONS /api/orders', [bearer(callers.ada)])
        await gateway.stop()
        expect(status, `${name} ${key === '' ? 'without a key' : 'with a key'}`).to.equal(403)
      }
    }
    expect(application.received).to.deep.equal([])
  })
})

/** Asks the application itself, and waits until the connection is over. */
async function upgradedAt({ at }: Application, headers: readonly string[]): Promise<void> {
  const [host = '', port] = at.split(':')
  const socket = connect(Number(port), host)
  socket.resume().write(`GET /api/orders HTTP/1.1\r\nHost: ${at}\r\n${headers.join('\r\n')}\r\n\r\n`)
  await once(socket, 'close')
}

/** What gateways ask about from now on. */
function urisAskedOf({ url }: AskedServer): string[] {
  const uris: string[] = []
  subscribe('http.server.request.start', (message) => {
    const { request: one } = message as { request: IncomingMessage }
    if (String(one.socket.localPort) !== new URL(url).port) return
    const uri = one.url?.startsWith('/access/v1/forward/nginx') ? 'x-original-uri' : 'x-forwarded-uri'
    uris.push(String(one.headers[uri]))
  })
  return uris
}

function examplesOf(path: string): [string, GatewayName][] {
  return (Object.keys(GATEWAYS) as GatewayName[]).map((name) => [path, name])
}
