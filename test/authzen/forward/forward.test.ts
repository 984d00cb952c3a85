/** Forward auth, asked as each gateway asks: who may ask, what is decided, and what the gateway is told. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { readApiKey } from '../../../src/identity/directory/api-key.ts'
import { anotherKey } from '../../another-key.ts'
import { type Callers, pathsOf, tokensOf } from '../../request/callers.ts'
import type { RawAnswer } from '../../request/raw.ts'
import { drawing, runs } from '../../runs.ts'
import { type AskedServer, ask, expectRefused, PAIRS, PROFILES, startAskedServer, told } from './asking.ts'

const METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH', 'POST', 'PUT']

describe('forward auth', () => {
  let server: AskedServer
  let callers: Callers
  let asked: (asking: Parameters<typeof ask>[1]) => Promise<RawAnswer>
  const lastRecord = async () => (await server.decisions()).findLast(({ forwarded }) => forwarded !== undefined)

  before(async () => {
    server = await startAskedServer()
    callers = await tokensOf(server)
    asked = (asking) => ask(server.url, { key: server.key, ...asking })
  })

  after(() => server.stop())

  for (const profile of PROFILES) {
    const [methodName, uriName] = PAIRS[profile]
    const otherPair = profile === 'nginx' ? PAIRS.caddy : PAIRS.nginx

    it(`${profile}: a granted request is 204 with the client's identity, and is never stored`, async () => {
      const { status, headers, text } = await asked({ profile, token: callers.sam })
      expect([status, text]).to.deep.equal([204, ''])
      expect(headers).to.include({
        'cache-control': 'no-store',
        'x-sallyport-subject': 'sam',
        'x-sallyport-roles': 'member,support',
        'x-sallyport-revision': headers['policy-revision'],
        'x-sallyport-problem': '',
      })
      const record = await lastRecord()
      expect(record).to.deep.include({
        requestId: headers['x-sallyport-request'],
        method: 'GET',
        route: '/api/orders',
        resource: 'orders',
        action: 'list',
        subject: 'sam',
        outcome: 'allowed',
        status: 204,
        forwarded: { profile, gateway: 'edge' },
      })
      expect(record?.rules).not.to.deep.equal([])
    })

    it(`${profile}: refusals have the status that the gateway passes on`, async () => {
      for (const [asking, status, code] of [
        [{}, 401, 'credentials-missing'],
        [{ token: `${callers.sam}x` }, 401, 'token-invalid'],
        [{ token: callers.audrey, method: 'POST' }, 403, 'forbidden'],
        [{ token: callers.ada, uri: '/nowhere' }, 404, 'route-not-found'],
        [{ token: callers.ada, uri: '/api/orders/' }, 404, 'route-not-found'],
        [{ token: callers.ada, uri: '/API/orders' }, 404, 'route-not-found'],
        // The program's own routes are not the application's.
        [{ token: callers.ada, uri: '/livez' }, 404, 'route-not-found'],
        [{ token: callers.ada, method: 'PROPFIND' }, 405, 'method-not-allowed'],
        [{ token: callers.ada, method: 'get' }, 405, 'method-not-allowed'],
        [{ token: callers.ada, uri: '/api/orders/%2e%2e' }, 400, 'invalid-path'],
        [{ token: callers.ada, uri: `/${'a'.repeat(8200)}` }, 414, 'url-too-long'],
      ] as const) {
        expectRefused(await asked({ profile, ...asking }), told(profile, status), code)
      }
    })

    it(`${profile}: reads its own pair of headers alone, each once`, async () => {
      const token = callers.sam
      const other = [`${otherPair[0]}: OPTIONS`, `${otherPair[1]}: /api/orders`]
      for (const asking of [
        { method: '' },
        { uri: '' },
        { method: '', uri: '' },
        { more: [`${methodName}: GET`] },
        { more: [`${uriName.toLowerCase()}: /api/orders`] },
        { method: 'GET, GET' },
        { method: 'GET /' },
      ]) {
        const more = [...('more' in asking ? (asking.more ?? []) : []), ...other]
        expectRefused(await asked({ profile, token, ...asking, more }), told(profile, 400), 'invalid-forward')
      }
      expect((await asked({ profile, token, more: other })).status).to.equal(204)
      // Joined by a proxy on the way.
      const joined = await asked({ profile, token, uri: '/api/orders, /api/orders' })
      expectRefused(joined, told(profile, 400), 'invalid-path')
    })

    it(`${profile}: a gateway that proves nothing is refused with 403, and the client's credential isn't looked at`, async () => {
      const robot = await server.addKey('robot', 'admin')
      for (const [key, more, reason] of [
        [undefined, [], 'no X-Sallyport-Key, and no gateway at this address'],
        ['', [], 'X-Sallyport-Key is not an API key'],
        [callers.ada, [], 'X-Sallyport-Key is not an API key'],
        [anotherKey(server.key), [], undefined],
        [server.key, [`x-sallyport-key: ${server.key}`], 'several X-Sallyport-Key headers'],
        [robot, [], 'the policy does not let robot forward requests'],
      ] as const) {
        expectRefused(await ask(server.url, { profile, key, more, token: callers.sam }), 403, 'gateway-refused')
        const { subject, forwarded, outcome, ...record } = (await lastRecord()) ?? {}
        expect([subject, forwarded, outcome]).to.deep.equal([undefined, { profile }, 'refused'])
        expect(record.authentication).to.equal('rejected')
        if (reason !== undefined) expect(record.reason).to.equal(reason)
        expect(JSON.stringify(record)).not.to.contain('sp_')
      }
    })
  }

  it("the gateway's own key is no credential of its client", async () => {
    expectRefused(await asked({}), 401, 'credentials-missing')
    expectRefused(await ask(server.url, { token: server.key }), 403, 'gateway-refused')
    // A client may have an API key, and a gateway's key in Authorization is its own.
    expect((await asked({ token: await server.addKey('nightly', 'auditor') })).status).to.equal(204)
    expectRefused(await asked({ token: server.key }), 403, 'forbidden')
  })

  it('a revoked or blocked gateway is refused with its next request', async () => {
    const key = await server.addKey('old-edge', 'gateway')
    expect((await ask(server.url, { key, token: callers.sam })).status).to.equal(204)
    await server.app.directory.revokeKey(readApiKey(key)?.id ?? '')
    expectRefused(await ask(server.url, { key, token: callers.sam }), 403, 'gateway-refused')
    const blocked = { key: await server.addKey('blocked-edge', 'gateway'), token: await server.token('eve', 'support') }
    expect((await ask(server.url, blocked)).status).to.equal(204)
    await writeFile(join(server.folder, 'policies/blocked.txt'), 'user:blocked-edge\nuser:eve\n')
    await server.app.policy.reload()
    expectRefused(await ask(server.url, blocked), 403, 'gateway-refused')
    expectRefused(await ask(server.url, { ...blocked, key: server.key }), 403, 'blocked')
  })

  it("the client's other headers are for the application", async () => {
    const more = [
      'Accept: text/html',
      'If-None-Match: *',
      'If-Match: nonsense',
      'Idempotency-Key: one',
      'Range: bytes=0-1',
      'X-HTTP-Method-Override: DELETE',
      'Cookie: a=b',
    ]
    const { status, headers } = await asked({ token: callers.alice, method: 'POST', more })
    expect([status, headers.etag]).to.deep.equal([204, undefined])
    expect(await lastRecord()).to.include({ method: 'POST', action: 'create' })
    expect((await asked({ token: callers.sam, uri: '/api/orders?limit=x&a=1&a=2' })).status).to.equal(204)
  })

  it("the gateway's own method and body mean nothing, as when Traefik keeps its client's", async () => {
    for (const profile of PROFILES)
      for (const by of ['OPTIONS', 'TRACE']) {
        const { status, headers } = await asked({ profile, by, token: callers.sam })
        expect([status, headers.allow, headers['x-sallyport-subject']], `${by} ${profile}`).to.deep.equal([
          204,
          undefined,
          'sam',
        ])
      }
    for (const [by, body] of [
      ['POST', '{"customerId":"sam"}'],
      ['PUT', ''],
      ['DELETE', ''],
      ['OPTIONS', ''],
      ['PROPFIND', ''],
      ['HEAD', ''],
    ] as const) {
      const { status, headers } = await asked({ by, body, token: callers.sam })
      expect([status, headers['x-sallyport-subject']], by).to.deep.equal([204, 'sam'])
      // An answer to HEAD has the length of a body that doesn't come.
      if (by === 'HEAD') continue
      const refused = await asked({ by, body, method: 'DELETE', uri: '/api/orders/1' })
      expect([refused.status, refused.headers['x-sallyport-problem']], by).to.deep.equal([401, 'credentials-missing'])
    }
    // A preflight that lost its headers on the way is no permission.
    const lost = await asked({ by: 'OPTIONS', method: '', uri: '' })
    expect([lost.status, lost.headers['x-sallyport-problem']]).to.deep.equal([400, 'invalid-forward'])
  })

  it('nothing is written, whatever is asked', async () => {
    const before = await server.ask('GET', '/api/orders?count=exact&limit=1', { token: callers.ada })
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const uri = method === 'POST' ? '/api/orders' : `/api/orders/${before.body.items[0].id}`
      expect((await asked({ token: callers.ada, method, uri })).status).to.equal(204)
    }
    const after = await server.ask('GET', '/api/orders?count=exact&limit=1', { token: callers.ada })
    expect(after.body).to.deep.equal(before.body)
  })

  it('texts that no header can have are percent-encoded', async () => {
    const id = 'zoë 100%,\u{1F511}'
    const { headers } = await asked({ token: await server.token(id, 'admin', 'unknown') })
    expect(headers['x-sallyport-subject']).to.equal('zo%C3%AB%20100%25,%F0%9F%94%91')
    expect(decodeURIComponent(headers['x-sallyport-subject'] ?? '')).to.equal(id)
    // Only roles that the policy declares, with what they inherit.
    expect(headers['x-sallyport-roles']).to.equal('admin,member')
  })

  it('refuses nothing at the role level that the route itself would allow', async () => {
    const paths = [...(await pathsOf(server, callers.ada))].filter(([route]) =>
      /^\/(?:api\/(?!tokens)|profile)/.test(route),
    )
    const tokens = [undefined, ...Object.values(callers)]
    const draw = (token: string | undefined, method: string): [[string, string], string | undefined, string] => {
      return [['/api/orders', '/api/orders'], token, method]
    }
    const seen = new Set<number>()
    await drawing(
      () =>
        fc.assert(
          fc.asyncProperty(
            fc.constantFrom(...paths),
            fc.constantFrom(...tokens),
            fc.constantFrom(...METHODS),
            async ([route, uri], token, method) => {
              const forwarded = await asked({ uri, method, ...(token === undefined ? {} : { token }) })
              seen.add(forwarded.status)
              if (forwarded.status === 204) return
              // A body that nothing accepts: were the caller allowed, the answer would be about the body.
              const body = ['PATCH', 'POST', 'PUT'].includes(method) ? 'x' : undefined
              const own = await server.ask(method, uri, { token, headers: { 'content-type': 'text/plain' }, body })
              expect(own.status, `${method} ${route}`).to.equal(forwarded.status)
            },
          ),
          // One of each answer, whatever is drawn.
          {
            numRuns: runs(150),
            examples: [
              draw(callers.sam, 'GET'),
              draw(undefined, 'GET'),
              draw(callers.audrey, 'POST'),
              draw(callers.sam, 'PUT'),
            ],
          },
        ),
      () => {
        expect([...seen]).to.include.members([204, 401, 403, 405])
      },
    )
  })

  it('the record names the object that the client asks about', async () => {
    await asked({ token: callers.alice, method: 'DELETE', uri: '/api/orders/1' })
    expect(await lastRecord()).to.deep.include({ objectId: '1', outcome: 'allowed', action: 'delete' })
  })
})
