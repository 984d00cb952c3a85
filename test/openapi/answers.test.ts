/** The checker that holds every answer of the test suite to the document (test/answer-checker.ts): it can fail. */
import { expect } from 'chai'
import type { MemberCutter } from '../../src/store/lists/member-cutter.ts'
import { type AnswerChecker, type CheckedAnswer, checkerOf } from '../answer-checker.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { shipped, wholeDocument } from './fixture.ts'

const NOTE = {
  id: '019a7d1e-0000-7000-8000-000000000000',
  ownerId: 'alice',
  title: 't',
  createdAt: '2026-11-21T00:00:00.000Z',
  updatedAt: '2026-11-21T00:00:00.000Z',
}

const RIGHT: CheckedAnswer = {
  method: 'GET',
  path: '/api/v1/notes/019a7d1e-0000-7000-8000-000000000000?x=1',
  status: 200,
  headers: new Headers({ 'policy-revision': 'r', etag: '"abc"', 'content-type': 'application/json; charset=utf-8' }),
  text: JSON.stringify(NOTE),
}

function problem(code: string, status: number): string {
  const type = `urn:sallyport:problem:${code}`
  return JSON.stringify({ type, title: 't', status, detail: 'd', instance: 'urn:uuid:1', code })
}

function headersWith(more: Record<string, string>, ...without: readonly string[]): Headers {
  const headers = new Headers({ ...Object.fromEntries(RIGHT.headers), ...more })
  for (const name of without) headers.delete(name)
  return headers
}

describe('an answer that the document allows', () => {
  let check: AnswerChecker

  before(async () => {
    check = checkerOf(await wholeDocument(shipped()))
  })

  it('is no fault', () => {
    expect(check(RIGHT)).to.deep.equal([])
    const headers = headersWith({ 'content-type': 'application/problem+json' }, 'etag')
    expect(check({ ...RIGHT, status: 404, headers, text: problem('object-not-found', 404) })).to.deep.equal([])
    expect(
      check({ ...RIGHT, path: '/nowhere', status: 404, headers, text: problem('route-not-found', 404) }),
    ).to.deep.equal([])
  })

  const PROBLEM = headersWith({ 'content-type': 'application/problem+json' }, 'etag')

  const WRONG: Readonly<Record<string, Partial<CheckedAnswer>>> = {
    'another status': { status: 202 },
    'a field too much': { text: JSON.stringify({ ...NOTE, secret: 1 }) },
    'a field too few': { text: JSON.stringify({ ...NOTE, title: undefined }) },
    'a value of another type': { text: JSON.stringify({ ...NOTE, tags: 'x' }) },
    'no body': { text: '' },
    'another media type': { headers: headersWith({ 'content-type': 'text/html' }) },
    'no ETag': { headers: headersWith({}, 'etag') },
    'no Policy-Revision': { headers: headersWith({}, 'policy-revision') },
    'a Link that is nowhere said': { headers: headersWith({ link: '</x>; rel="next"' }) },
    'a problem of another operation': { status: 400, headers: PROBLEM, text: problem('invalid-patch', 400) },
    'a problem of another status': { status: 404, headers: PROBLEM, text: problem('forbidden', 403) },
    'a problem without its members': { status: 404, headers: PROBLEM, text: '{"code":"object-not-found"}' },
    '401 without WWW-Authenticate': { status: 401, headers: PROBLEM, text: problem('credentials-missing', 401) },
    '200 where there is no route': { path: '/nowhere' },
  }
  for (const [name, wrong] of Object.entries(WRONG)) {
    it(`is not this one: ${name}`, () => {
      expect(check({ ...RIGHT, ...wrong })).to.not.deep.equal([])
    })
  }
})

describe('a server whose answer the document does not allow', () => {
  let server: TestServer

  afterEach(() => server.stop().catch(() => undefined))

  async function asked(
    unchecked: { readonly uncheckedBecause?: string },
    client?: (url: string, token: string) => Promise<unknown>,
  ): Promise<unknown> {
    server = await startTestServer({ demo: true, ...unchecked })
    // A fault that the document can't know of: the store says more than the schema has.
    const { list } = server.app.store
    Object.assign(server.app.store, {
      list: async (...args: Parameters<typeof list>) => {
        const found = await list.apply(server.app.store, args)
        for (const object of found) {
          const json = object.json.bind(object)
          const wrong = (shown: MemberCutter) => JSON.stringify({ ...JSON.parse(json(shown)), title: 7 })
          Object.assign(object, { json: wrong })
        }
        return found
      },
    })
    const token = await server.token('alice', 'member')
    if (client) return client(`${server.url}/api/v1/notes`, token)
    return server.ask('GET', '/api/v1/notes', { token }).then(
      ({ status }) => status,
      (error: Error) => error.message,
    )
  }

  it('fails the test that asked', async () => {
    expect(await asked({})).to.include('not in the OpenAPI document: GET /api/v1/notes -> 200: the body/items/0/title')
  })

  it('fails when it stops, where a client of another kind had asked', async () => {
    await asked({}, (url, token) => fetch(url, { headers: { authorization: `Bearer ${token}` } }))
    const failure = await server.stop().then(
      () => 'none',
      ({ message }: Error) => message,
    )
    expect(failure).to.include('not in the OpenAPI document: GET /api/v1/notes -> 200: the body/items/0/title')
  })

  it('does not where the test says why', async () => {
    expect(await asked({ uncheckedBecause: 'the store is sabotaged' })).to.equal(200)
  })
})
