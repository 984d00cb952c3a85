/** What a batch must not become: a way around limits, headers and routes, or more work than its requests alone. */
import { expect } from 'chai'
import type { Authentication } from '../../src/identity/caller.ts'
import { ENGINES } from '../data/each-engine.ts'
import { cpuMs } from '../measure.ts'
import { sleep } from '../request/raw.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { BATCHING, type Part, type PartAnswer, sendBatch } from './batch-world.ts'

const LIMITS = `body: 16kb
answer: 4kb
page: { default: 50, max: 200 }
limits: { narrow: { per: subject, allow: 5, window: 60s, match: { role: support } } }
`

const remark = (id: string, text: string): Part => ({
  id,
  method: 'POST',
  path: '/remarks',
  body: { ownerId: 'alice', text },
})
const get = (id: string, path: string): Part => ({ id, method: 'GET', path })

describe('a hostile batch', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startTestServer({ files: { ...BATCHING, 'policies/limits.yaml': LIMITS } })
    token = await server.token('alice', 'member')
  })
  after(() => server.stop())

  const send = async (requests: readonly Part[], as = token) => {
    const answer = await sendBatch(server, as, requests)
    expect([answer.status, answer.text]).to.satisfy(([status]: [number]) => status === 200)
    return answer.body.responses as readonly PartAnswer[]
  }
  const total = async () => (await server.ask('GET', '/remarks?count=exact&limit=1', { token })).body.total

  it('with a fault in its form is refused as a whole, with all faults, and nothing is done', async () => {
    const before = await total()
    const first = remark('r', 'x')
    for (const [requests, pointers] of [
      [[first, first], ['/requests/1/id']],
      [[{ ...first, id: 'a.b' }], ['/requests/0/id']],
      [[{ ...first, method: 'OPTIONS' }], ['/requests/0/method']],
      [[{ ...first, path: 'http://other.example/remarks' }], ['/requests/0/path']],
      [[get('a', '/remarks/{b.id}'), get('b', '/remarks')], ['/requests/0/path']],
      [
        [first, get('a', '/remarks/{r}'), get('b', '/remarks/{r.id')],
        ['/requests/1/path', '/requests/2/path'],
      ],
      [[first, { ...first, id: 'a', body: { text: { $ref: 'a.id' } } }], ['/requests/1/body/text/$ref']],
      [[first, { ...first, id: 'a', body: { text: { $ref: 'r.id', more: 1 } } }], ['/requests/1/body/text/$ref']],
      [[{ ...first, headers: { Authorization: 'Bearer x' } }], ['/requests/0/headers/Authorization']],
      [
        [{ ...first, headers: { Host: 'x', 'X-Forwarded-For': 'y' } }],
        ['/requests/0/headers/Host', '/requests/0/headers/X-Forwarded-For'],
      ],
      [[{ ...first, headers: { Accept: '*/*', accept: 'text/html' } }], ['/requests/0/headers/accept']],
      [[{ ...first, headers: { Accept: 'a\r\nHost: x' } }], ['/requests/0/headers/Accept']],
      [Array.from({ length: 101 }, (_, at) => remark(`r${at}`, 'x')), ['/requests']],
      [[], ['/requests']],
    ] as const) {
      const { status, body } = await sendBatch(server, token, requests)
      expect([status, body.code, body.errors?.map((one: { pointer: string }) => one.pointer)]).to.deep.equal([
        400,
        'invalid-body',
        pointers,
      ])
    }
    expect(await total()).to.equal(before)
    // The control: without a fault it is done.
    await send([first])
    expect(await total()).to.equal(before + 1)
  })

  it('is refused where its caller has eight under way, atomic or not, and nobody else is', async () => {
    const bob = await server.token('bob', 'member')
    const looks = Array.from({ length: 60 }, (_, at) => ({ id: `r${at}`, method: 'HEAD', path: '/remarks' }))
    const many = Array.from({ length: 12 }, () => sendBatch(server, token, looks, { atomic: true }))
    const [other, ...answers] = await Promise.all([sendBatch(server, bob, [get('a', '/remarks')]), ...many])
    expect(other.status).to.equal(200)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).to.be.within(1, 4)
    expect(refused[0]?.body).to.deep.include({ code: 'quota-exceeded', 'violated-policies': ['under-way'] })
    await send([get('a', '/remarks')])
  })

  it('reaches the routes of schema files and no other, however a path is written', async () => {
    const paths = [
      '/batch',
      '//batch',
      '/%62atch',
      '/./batch',
      '/api/tokens',
      '/policy/v1/block',
      '/access/v1/evaluation',
    ]
    const more = ['/livez', '/openapi.json', '/access-requests', '/{r.text}', '/{r.text}/', '*'].filter(
      (one) => one !== '*',
    )
    const parts = [...paths, ...more].map((path, at) => ({ id: `p${at}`, method: 'POST', path, body: {} }))
    const [, ...answers] = await send([remark('r', 'batch'), ...parts])
    expect(answers.map(({ status, body }) => `${status} ${body.code}`)).to.deep.equal(
      parts.map(() => '404 route-not-found'),
    )
  })

  it('puts a value into a path as one segment, whatever is in it', async () => {
    const texts = ['../projects?limit=1#x', 'a/b', '..', '.', '%2F', '{r.id}', 'ü\u{1F600}']
    for (const text of texts) {
      const [, read, queried] = await send([
        remark('m', text),
        get('g', '/remarks/{m.text}'),
        get('q', '/remarks?text={m.text}'),
      ])
      expect([text, read?.status, read?.body.code]).to.deep.equal([text, 404, 'object-not-found'])
      expect(queried?.body.code).to.equal('invalid-query')
      expect(await server.lastDecision({ method: 'GET', status: 404 })).to.include({
        route: '/remarks/{id}',
        objectId: text,
      })
    }
    const [, empty] = await send([remark('m', ''), get('g', '/remarks/{m.text}')])
    expect(empty?.status).to.equal(424)
  })

  it('counts each of its requests in the limits, and itself', async () => {
    const narrow = await server.token('sue', 'member', 'support')
    const answers = await send(
      Array.from({ length: 8 }, (_, at) => get(`r${at}`, '/projects?limit=1')),
      narrow,
    )
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 429, 429, 429, 429])
    expect(answers[4]?.headers['Retry-After']).to.match(/^\d+$/)
    expect((await sendBatch(server, narrow, [get('r', '/projects')])).status).to.equal(429)
  })

  it('ends with its token: no request after the end is done', async () => {
    let left = 8
    const verify = (): Authentication => {
      left -= 1
      if (left < 0) return { kind: 'rejected', code: 'token-expired', reason: 'expired' }
      return { kind: 'caller', caller: { id: 'alice', roles: ['member'], claims: {} } }
    }
    const ending = await startTestServer({ files: BATCHING, verifier: { verify } })
    try {
      const requests = Array.from({ length: 12 }, (_, at) => remark(`r${at}`, 'late'))
      const { body } = await sendBatch(ending, 'any', requests)
      const statuses = body.responses.map(({ status }: PartAnswer) => status)
      expect(statuses).to.deep.equal([...Array(7).fill(201), ...Array(5).fill(401)])
      expect(body.responses.at(-1).body.code).to.equal('token-expired')
      left = 8
      const kept = await ending.ask('GET', '/remarks', { token: 'any' })
      expect(kept.body.items).to.have.length(7)
    } finally {
      await ending.stop()
    }
  })

  it('makes no large bodies of small ones, and no answer without a bound', async () => {
    await send(Array.from({ length: 10 }, (_, at) => remark(`r${at}`, 'x'.repeat(99))))
    const list = get('l', '/remarks?limit=5')
    const many = { ...remark('m', ''), body: { text: Array(100).fill({ $ref: 'l.items' }) } }
    const [, large] = await send([list, many])
    expect([large?.status, large?.body.code]).to.deep.equal([413, 'body-too-large'])
    const lists = await send(Array.from({ length: 40 }, (_, at) => get(`l${at}`, '/remarks?limit=5')))
    const done = lists.filter(({ status }) => status === 200)
    expect(done.length).to.be.within(2, 10)
    expect(new Set(lists.slice(done.length).map(({ status, body }) => `${status} ${body.code}`))).to.deep.equal(
      new Set(['503 batch-ended']),
    )
    // What a HEAD doesn't send fills no answer.
    const heads = await send(
      Array.from({ length: 40 }, (_, at): Part => ({ ...get(`h${at}`, '/remarks?limit=5'), method: 'HEAD' })),
    )
    expect(new Set(heads.map(({ status, body }) => `${status} ${body}`))).to.deep.equal(new Set(['200 undefined']))
  })

  it('makes no path of any size out of one long text', async () => {
    const schema = BATCHING['schemas/remarks.json'].replace(
      '"text":{"type":"string","maxLength":99}',
      '"text":{"type":"string"}',
    )
    const long = await startTestServer({ files: { ...BATCHING, 'schemas/remarks.json': schema } })
    try {
      const alice = await long.token('alice', 'member')
      const made = await long.ask('POST', '/remarks', { token: alice, body: remark('r', '.'.repeat(90_000)).body })
      expect(made.status).to.equal(201)
      const refs = (times: number, value = '{r.text}') => value.repeat(times)
      const took = await cpuMs(async () => {
        const { body } = await sendBatch(long, alice, [
          get('r', `/remarks/${made.body.id}`),
          get('one', `/remarks/${refs(1)}`),
          get('many', `/remarks/${refs(1000)}`),
          get('query', `/remarks?id=${refs(1000)}`),
          get('fits', `/remarks/${refs(200, '{r.id}')}`),
        ])
        expect(body.responses.map(({ status, body }: PartAnswer) => `${status} ${body.code}`)).to.deep.equal([
          '200 undefined',
          ...Array(3).fill('414 url-too-long'),
          '404 object-not-found',
        ])
      })
      // Each of the two would be 270 MB, and take ten seconds.
      expect(took).to.be.below(5000)
    } finally {
      await long.stop()
    }
  })

  it('gives no value of a refused request, of a HEAD, or of what a value inherits', async () => {
    const [, , , ...answers] = await send([
      remark('m', 'x'),
      { ...get('h', '/remarks/{m.id}'), method: 'HEAD' },
      get('n', '/remarks/missing'),
      ...['h.id', 'n.code', 'm.nothing', 'm.id.length', 'm.constructor', 'm.__proto__.x', 'm.text.0'].map((one, at) =>
        get(`g${at}`, `/remarks/{${one}}`),
      ),
    ])
    expect(answers.map(({ status, body }) => `${status} ${body.code}`)).to.deep.equal(
      answers.map(() => '424 failed-dependency'),
    )
  })

  it('ends with its client: no request after that is done, and none of an atomic one', async () => {
    let left = Number.POSITIVE_INFINITY
    let leave = () => {}
    const verify = async (): Promise<Authentication> => {
      left -= 1
      if (left === 0) {
        leave()
        await sleep(100)
      }
      return { kind: 'caller', caller: { id: 'alice', roles: ['member'], claims: {} } }
    }
    const leaving = await startTestServer({ files: BATCHING, verifier: { verify } })
    try {
      const requests = Array.from({ length: 9 }, (_, at) => remark(`r${at}`, 'gone'))
      const gone = async () =>
        (await leaving.decisions()).filter(({ route, status }) => route === '/batch' && status === 400)
      for (const [times, atomic] of [false, true].entries()) {
        left = 4
        const controller = new AbortController()
        leave = () => controller.abort()
        const { signal } = controller
        const headers = { Authorization: 'Bearer any', 'Content-Type': 'application/json' }
        const body = JSON.stringify({ atomic, requests })
        const answer = await fetch(`${leaving.url}/batch`, { method: 'POST', headers, body, signal }).catch(
          () => undefined,
        )
        expect(answer).to.equal(undefined)
        await until(async () => (await gone()).length === times + 1)
        expect((await leaving.ask('GET', '/remarks', { token: 'any' })).body.items).to.have.length(3)
      }
    } finally {
      await leaving.stop()
    }
  })

  it('that waits for ever within a transaction is undone in two seconds, and others write on', async () => {
    await Promise.all(
      ENGINES.map(async ([engine, startOn]) => {
        let left = Number.POSITIVE_INFINITY
        const verify = (): Authentication | Promise<Authentication> => {
          left -= 1
          if (left === 0) return new Promise(() => undefined)
          return { kind: 'caller', caller: { id: 'alice', roles: ['member'], claims: {} } }
        }
        const on = await startOn({ files: BATCHING, verifier: { verify } })
        try {
          left = 4
          const requests = [remark('a', 'x'), remark('b', 'x'), remark('c', 'x')]
          const begun = performance.now()
          const { status, body } = await sendBatch(on.server, 'any', requests, { atomic: true })
          expect([engine, status, body.code]).to.deep.equal([engine, 503, 'batch-ended'])
          expect(performance.now() - begun).to.be.within(1500, 60_000)
          const { items } = (await on.server.ask('GET', '/remarks', { token: 'any' })).body
          expect(items).to.deep.equal([])
          const made = await on.server.ask('POST', '/remarks', { token: 'any', body: requests[0]?.body })
          expect(made.status).to.equal(201)
        } finally {
          await on.stop()
        }
      }),
    )
  })
})
