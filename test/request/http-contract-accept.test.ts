/** docs/http.md, "Answers": JSON, unless the client wants none of it. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, firstOf, tokensOf } from './callers.ts'
import { converse, request } from './raw.ts'

const NOTES = '/api/v1/notes'

describe('Accept', () => {
  let server: TestServer
  let callers: Callers
  let item: string

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
    item = `${NOTES}/${(await firstOf(server, NOTES, callers.alice)).id}`
  })
  after(() => server.stop())

  it('that JSON fits is answered with JSON: ranges, lists, weights, parameters', async () => {
    for (const accept of [
      '*/*',
      'application/*',
      'application/json',
      'APPLICATION/JSON',
      'application/json;charset=utf-8',
      'application/json; charset=UTF-8',
      'application/json;q=0.001',
      'text/html, application/json;q=0.1',
      'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
      'text/html;x=",", */*',
      'application/*;q=0, application/json',
      'nonsense, application/json',
      '',
    ]) {
      const { status, headers } = await ask('GET', item, accept)
      expect([status, headers.get('content-type')], accept).to.deep.equal([200, 'application/json; charset=utf-8'])
    }
  })

  it('that nothing fits is 406, and the problem is a problem all the same', async () => {
    for (const accept of [
      'text/html',
      'application/xml',
      'text/*',
      'application/json;q=0',
      'application/json;q=0.0, text/html',
      '*/*, application/json;q=0',
      '*/*;q=0',
      'application/*;q=0, */*',
      'application/problem+json',
      'application/json;version=2',
      'application/jsonx',
      'json',
      'nonsense',
      ',',
    ]) {
      const { status, headers, body } = await ask('GET', item, accept)
      expect([status, body.code], accept).to.deep.equal([406, 'not-acceptable'])
      expect(headers.get('content-type')).to.equal('application/problem+json')
    }
  })

  it('is heeded by every method that answers with a representation, and nothing is written', async () => {
    const before = (await server.ask('GET', item, { token: callers.alice })).text
    for (const [method, path, body] of [
      ['GET', NOTES],
      ['HEAD', NOTES],
      ['GET', item],
      ['HEAD', item],
      ['POST', NOTES, { title: 'never' }],
      ['PUT', item, { title: 'never' }],
      ['PATCH', item, { title: 'never' }],
      ['GET', '/livez'],
      ['GET', '/profile'],
    ] as const) {
      expect((await ask(method, path, 'text/html', body)).status, `${method} ${path}`).to.equal(406)
    }
    expect((await server.ask('GET', item, { token: callers.alice })).text).to.equal(before)
    expect((await server.ask('GET', `${NOTES}?limit=200`, { token: callers.alice })).text).to.not.contain('never')
  })

  it('does not concern what is answered without a body: OPTIONS and DELETE', async () => {
    const { headers } = await server.ask('POST', NOTES, { token: callers.alice, body: { title: 't' } })
    expect((await ask('OPTIONS', item, 'text/html')).status).to.equal(204)
    expect((await ask('DELETE', headers.get('location') ?? '', 'text/html')).status).to.equal(204)
  })

  it('comes after authorization and before the body is read', async () => {
    const accept = { headers: { accept: 'text/html' } }
    expect((await server.ask('GET', item, accept)).status).to.equal(401)
    expect((await server.ask('GET', item, { ...accept, token: callers.bob })).status).to.equal(403)
    expect((await server.ask('GET', `${NOTES}/none`, { ...accept, token: callers.alice })).status).to.equal(404)
    expect((await ask('POST', NOTES, 'text/html', 'no JSON')).status).to.equal(406)
    const headers = [`Authorization: Bearer ${callers.alice}`, 'Accept: text/html', 'Content-Type: text/plain']
    const refused = [request(`POST ${NOTES}`, [...headers, 'Content-Length: 9', 'Expect: 100-continue'])]
    const { answers } = await converse(server.url, refused)
    expect(answers.map(({ status }) => status)).to.deep.equal([406])
  })

  it('changes no problem of another kind: they leave as problems, whatever it says', async () => {
    for (const accept of ['text/html', 'application/json', 'application/json;q=0']) {
      for (const [path, status] of [
        ['/nowhere', 404],
        ['/api/users/bob', 403],
        [`${NOTES}/none`, 404],
      ] as const) {
        const answer = await ask('GET', path, accept)
        expect(answer.status).to.equal(status)
        expect(answer.headers.get('content-type')).to.equal('application/problem+json')
      }
    }
  })

  it('sent twice counts as one list', async () => {
    const lines = [`Authorization: Bearer ${callers.alice}`, 'Accept: text/html', 'Accept: application/json']
    const { answers } = await converse(server.url, [request(`GET ${item}`, lines)])
    expect(answers[0]?.status).to.equal(200)
  })

  it('left out means that anything will do', async () => {
    const { answers } = await converse(server.url, [request(`GET ${item}`, [`Authorization: Bearer ${callers.alice}`])])
    expect(answers[0]?.status).to.equal(200)
  })

  function ask(method: string, path: string, accept: string, body?: unknown) {
    return server.ask(method, path, { token: callers.alice, headers: { accept }, ...(body ? { body } : {}) })
  }
})
