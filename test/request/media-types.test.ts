/** Which bodies are read at all: media type, coding and size, in this order. */
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, firstOf, tokensOf } from './callers.ts'
import { converse, request } from './raw.ts'

const NOTE = '{"title":"t"}'
const ACCEPT_PATCH = 'application/merge-patch+json, application/json-patch+json, application/json'

describe('the media type of a body', () => {
  let server: TestServer
  let callers: Callers
  let item: string

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
    item = `/api/v1/notes/${(await firstOf(server, '/api/v1/notes', callers.alice)).id}`
  })
  after(() => server.stop())

  it('is application/json, with or without charset=utf-8, in any case', async () => {
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'Application/JSON',
      'application/json; profile=x',
    ]) {
      expect((await send('POST', '/api/v1/notes', type)).status, type).to.equal(201)
      expect((await send('PUT', item, type)).status, type).to.equal(200)
      expect((await send('PATCH', item, type)).status, type).to.equal(200)
    }
  })

  it('any other is 415 with Accept, or Accept-Patch where it is a PATCH', async () => {
    for (const type of [
      'text/plain',
      'application/xml',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonx',
      'application/json, text/plain',
      'application/json text/plain',
      'application/vnd.api+json',
      'json',
      '*/*',
      'application/*',
      '',
    ]) {
      for (const [method, path] of [
        ['POST', '/api/v1/notes'],
        ['PUT', item],
        ['PATCH', item],
      ] as const) {
        const { status, headers, body } = await send(method, path, type)
        expect([status, body.code], `${method} ${type}`).to.deep.equal([415, 'unsupported-media-type'])
        expect(headers.get('accept')).to.equal(method === 'PATCH' ? null : 'application/json')
        expect(headers.get('accept-patch')).to.equal(method === 'PATCH' ? ACCEPT_PATCH : null)
      }
    }
  })

  it('merge patch is for PATCH alone', async () => {
    const type = 'application/merge-patch+json'
    expect((await send('PATCH', item, type)).status).to.equal(200)
    expect((await send('PUT', item, type)).status).to.equal(415)
    expect((await send('POST', '/api/v1/notes', type)).status).to.equal(415)
  })

  it('JSON Patch is for PATCH alone', async () => {
    const sent = (type: string) => ({ token: callers.alice, body: [], headers: { 'content-type': type } })
    const type = 'application/json-patch+json'
    expect((await server.ask('PATCH', item, sent(type))).status).to.equal(200)
    expect((await server.ask('PATCH', item, sent(`${type}; charset=utf-8`))).status).to.equal(200)
    expect((await server.ask('PUT', item, sent(type))).status).to.equal(415)
    expect((await server.ask('POST', '/api/v1/notes', sent(type))).status).to.equal(415)
  })

  it('a body without Content-Type is 415', async () => {
    for (const framing of [`Content-Length: ${NOTE.length}`, 'Transfer-Encoding: chunked']) {
      const body = framing.startsWith('C') ? NOTE : `${NOTE.length.toString(16)}\r\n${NOTE}\r\n0\r\n\r\n`
      const headers = [`Authorization: Bearer ${callers.alice}`, framing]
      const { answers } = await converse(server.url, [request('POST /api/v1/notes', headers, body)])
      expect([answers[0]?.status, answers[0]?.headers.accept]).to.deep.equal([415, 'application/json'])
    }
  })

  it('a coded body is 415 and is never inflated', async () => {
    const zipped = gzipSync(NOTE)
    for (const coding of ['gzip', 'x-gzip', 'deflate', 'br', 'zstd', 'identity, gzip', 'GZIP', 'compress']) {
      const sent = { method: 'POST', body: new Uint8Array(zipped) }
      const headers = { authorization: `Bearer ${callers.alice}`, 'content-type': 'application/json' }
      const url = `${server.url}/api/v1/notes`
      const answer = await fetch(url, { ...sent, headers: { ...headers, 'content-encoding': coding } })
      expect([answer.status, answer.headers.get('accept-encoding')], coding).to.deep.equal([415, 'identity'])
    }
    const plain = { token: callers.alice, body: NOTE, headers: { 'content-encoding': 'identity' } }
    expect((await server.ask('POST', '/api/v1/notes', plain)).status).to.equal(201)
  })

  it('another charset is 400', async () => {
    for (const charset of ['utf-16', 'utf-16le', 'iso-8859-1', 'us-ascii', 'utf-7', '"utf-8,x"']) {
      const { status, body } = await send('POST', '/api/v1/notes', `application/json; charset=${charset}`)
      expect([status, body.code], charset).to.deep.equal([400, 'invalid-json'])
    }
  })

  it('no body at all is 400, and 415 where it is said to be something else', async () => {
    const authorization = `Authorization: Bearer ${callers.alice}`
    for (const [headers, status] of [
      [[], 400],
      [['Content-Length: 0'], 400],
      [['Content-Type: application/json'], 400],
      [['Content-Type: application/json', 'Content-Length: 0'], 400],
      [['Content-Type: text/plain', 'Content-Length: 0'], 415],
      [['Content-Type: text/plain'], 415],
    ] as const) {
      const { answers } = await converse(server.url, [request('POST /api/v1/notes', [authorization, ...headers])])
      expect(answers[0]?.status, headers.join()).to.equal(status)
    }
  })

  function send(method: string, path: string, type: string) {
    return server.ask(method, path, { token: callers.alice, body: NOTE, headers: { 'content-type': type } })
  }
})
