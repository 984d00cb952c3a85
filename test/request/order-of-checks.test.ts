/** The order of checks (semantics.md, "Refusals"), proven pair by pair: of two faults, the earlier is answered. */
import { type IncomingMessage, request as send } from 'node:http'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, tokensOf } from './callers.ts'

interface Asking {
  readonly method: string
  readonly path: string
  readonly token: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
  /** Characters of white space behind the body. */
  readonly padding: number
  /** Characters that are missing at its end. */
  readonly cut: number
}

interface Fault {
  readonly name: string
  readonly status: number
  readonly code: string
  /** Faults of one name can't stand together in one request. */
  readonly place?: string
  readonly commit: (asking: Asking, callers: Callers) => Asking
}

/** The address that has used up its limit. */
const EXHAUSTED = '198.51.100.7'

/** In the order of the checks. */
const FAULTS: readonly Fault[] = [
  {
    name: 'an address over its limit',
    status: 429,
    code: 'quota-exceeded',
    commit: (asking) => ({ ...asking, headers: { ...asking.headers, 'x-forwarded-for': EXHAUSTED } }),
  },
  {
    name: 'an unknown path',
    status: 404,
    code: 'route-not-found',
    place: 'path',
    commit: (asking) => ({ ...asking, path: '/nowhere/alice' }),
  },
  {
    name: 'a method that the path does not accept',
    status: 405,
    code: 'method-not-allowed',
    commit: (asking) => ({ ...asking, method: 'PROPPATCH' }),
  },
  {
    name: 'a bad token',
    status: 401,
    code: 'token-invalid',
    commit: (asking) => ({ ...asking, token: `${asking.token}x` }),
  },
  {
    name: 'a role without this action',
    status: 403,
    code: 'forbidden',
    commit: (asking, { audrey }) => ({ ...asking, token: asking.token.endsWith('x') ? `${audrey}x` : audrey }),
  },
  {
    name: 'no such object',
    status: 404,
    code: 'object-not-found',
    place: 'path',
    commit: (asking) => ({ ...asking, path: '/api/users/nobody' }),
  },
  {
    name: "another's object",
    status: 403,
    code: 'forbidden',
    place: 'path',
    commit: (asking) => ({ ...asking, path: '/api/users/bob' }),
  },
  {
    name: 'nothing that the client would accept',
    status: 406,
    code: 'not-acceptable',
    commit: (asking) => ({ ...asking, headers: { ...asking.headers, accept: 'text/html' } }),
  },
  {
    name: 'an unsupported media type',
    status: 415,
    code: 'unsupported-media-type',
    commit: (asking) => ({ ...asking, headers: { ...asking.headers, 'content-type': 'text/plain' } }),
  },
  {
    name: 'a body that is too large',
    status: 413,
    code: 'body-too-large',
    commit: (asking) => ({ ...asking, padding: 200_000 }),
  },
  {
    name: 'a body that is not JSON',
    status: 400,
    code: 'invalid-json',
    commit: (asking) => ({ ...asking, cut: 1 }),
  },
  {
    name: 'a field that the caller may not write',
    status: 403,
    code: 'field-forbidden',
    commit: (asking) => ({ ...asking, body: { ...asking.body, roles: ['admin'] } }),
  },
  {
    name: 'a field of the wrong type',
    status: 400,
    code: 'invalid-body',
    place: 'schema',
    commit: (asking) => ({ ...asking, body: { ...asking.body, displayName: 7 } }),
  },
  {
    name: 'a field that the schema does not know',
    status: 400,
    code: 'invalid-body',
    place: 'schema',
    commit: (asking) => ({ ...asking, body: { ...asking.body, nickname: 'A' } }),
  },
  {
    name: 'a state that the client does not know',
    status: 412,
    code: 'precondition-failed',
    commit: (asking) => ({ ...asking, headers: { ...asking.headers, 'if-match': '"x"' } }),
  },
  {
    name: 'a unique value that is taken',
    status: 409,
    code: 'unique-taken',
    commit: (asking) => ({ ...asking, body: { ...asking.body, email: 'bob@example.com' } }),
  },
]

describe('the order of checks', () => {
  let server: TestServer
  let callers: Callers
  let fine: Asking

  before(async () => {
    const limits = `body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n  address: { per: address, allow: 1000, window: 300s }\n`
    server = await startTestServer({
      demo: true,
      env: { TRUST_PROXY: '127.0.0.1' },
      files: { 'policies/limits.yaml': limits },
    })
    callers = await tokensOf(server)
    fine = {
      method: 'PATCH',
      path: '/api/users/alice',
      token: callers.alice,
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.1' },
      body: { bio: 'Keeps bees.' },
      padding: 0,
      cut: 0,
    }
    await exhaust()
  })
  after(() => server.stop())

  it('without a fault the request is answered with 200', async () => {
    expect(await statusOf(fine)).to.deep.equal([200, undefined])
  })

  for (const [at, first] of FAULTS.entries()) {
    it(`${first.name}: ${first.status}, whatever else is wrong that is checked later`, async () => {
      const asking = first.commit(fine, callers)
      expect(await statusOf(asking), 'alone').to.deep.equal([first.status, first.code])
      for (const later of FAULTS.slice(at + 1)) {
        if (first.place !== undefined && first.place === later.place) continue
        // The order of committing doesn't matter, so both are tried.
        for (const both of [later.commit(asking, callers), first.commit(later.commit(fine, callers), callers)]) {
          expect(await statusOf(both), `with ${later.name}`).to.deep.equal([first.status, first.code])
        }
      }
    })
  }

  it('all faults at once are answered by the first', async () => {
    const everything = FAULTS.toReversed().reduce((asking, fault) => fault.commit(asking, callers), fine)
    expect(await statusOf(everything)).to.deep.equal([429, 'quota-exceeded'])
  })

  async function exhaust(): Promise<void> {
    const headers = { 'x-forwarded-for': EXHAUSTED }
    for (let i = 0; i < 1200; i++) {
      if ((await server.ask('GET', '/livez', { headers })).status === 429) return
    }
    throw new Error('the limit was never reached')
  }

  function statusOf({ method, path, token, headers, body, padding, cut }: Asking): Promise<readonly [number, string?]> {
    const json = JSON.stringify(body)
    const text = json.slice(0, json.length - cut) + ' '.repeat(padding)
    const sent = { ...headers, authorization: `Bearer ${token}`, 'content-length': String(text.length) }
    return new Promise((resolve, reject) => {
      const asked = send(server.url + path, { method, agent: false, headers: sent }, (response) => {
        read(response).then((answer) => resolve([response.statusCode ?? 0, JSON.parse(answer).code]), reject)
      })
      // A body that isn't wanted is not read: its answer comes before the end of the sending.
      asked.on('error', reject)
      asked.end(text)
    })
  }
})

async function read(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response) text += chunk
  return text
}
