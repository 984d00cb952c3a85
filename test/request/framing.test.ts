/** Where two programs could see different requests in the same bytes, the answer is 400 and the connection ends. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { tokensOf } from './callers.ts'
import { converse } from './raw.ts'

const NOTE = '{"title":"smuggled"}'
const CHUNKED = `${NOTE.length.toString(16)}\r\n${NOTE}\r\n0\r\n\r\n`
const NEXT = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'

describe('framing', () => {
  let server: TestServer
  let post: string
  let json: string

  before(async () => {
    server = await startTestServer({ demo: true })
    const { alice } = await tokensOf(server)
    json = `Authorization: Bearer ${alice}\r\nContent-Type: application/json\r\n`
    post = `POST /api/v1/notes HTTP/1.1\r\nHost: localhost\r\n${json}`
  })
  after(() => server.stop())

  it('without a fault both framings are taken, chunk extensions and trailers too', async () => {
    const chunks = `5;a="b"\r\n${NOTE.slice(0, 5)}\r\nf\r\n${NOTE.slice(5)}\r\n0\r\nTrailer: x\r\n\r\n`
    for (const bytes of [
      `${post}Content-Length: ${NOTE.length}\r\n\r\n${NOTE}`,
      `${post}Transfer-Encoding: chunked\r\n\r\n${CHUNKED}`,
      `${post}Transfer-Encoding: Chunked\r\n\r\n${chunks}`,
    ]) {
      const { answers } = await converse(server.url, [bytes, NEXT], { answers: 2 })
      expect(answers.map(({ status }) => status)).to.deep.equal([201, 200])
    }
  })

  it('any host is one that this server is for, also by address, with a port or without', async () => {
    const hosts = [
      'localhost',
      'a.example:80',
      '127.0.0.1:3000',
      '[::1]',
      '[2001:db8::1]:443',
      '[v1.a:b]',
      'a_b',
      'a%20b',
      'a,b',
      'a.',
      'a:',
      '',
    ]
    for (const host of hosts) {
      const { answers } = await converse(server.url, [NEXT.replace('localhost', host)], { answers: 1 })
      expect(
        answers.map(({ status }) => status),
        host,
      ).to.deep.equal([200])
    }
  })

  it('several spaces in the request line count as one: the parser of Node tells no difference', async () => {
    const { answers } = await converse(server.url, [NEXT.replace('GET ', 'GET   ')], { answers: 1 })
    expect(answers.map(({ status }) => status)).to.deep.equal([200])
  })

  for (const [what, faulty] of [
    [
      'Content-Length before Transfer-Encoding',
      () => `${post}Content-Length: 20\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`,
    ],
    [
      'Content-Length after Transfer-Encoding',
      () => `${post}Transfer-Encoding: chunked\r\nContent-Length: 20\r\n\r\n${CHUNKED}`,
    ],
    ['two equal Content-Lengths', () => `${post}Content-Length: 20\r\nContent-Length: 20\r\n\r\n${NOTE}`],
    ['two different Content-Lengths', () => `${post}Content-Length: 20\r\nContent-Length: 2\r\n\r\n${NOTE}`],
    ['a list of Content-Lengths', () => `${post}Content-Length: 20, 20\r\n\r\n${NOTE}`],
    ['a negative Content-Length', () => `${post}Content-Length: -1\r\n\r\n`],
    ['a Content-Length with a sign', () => `${post}Content-Length: +20\r\n\r\n${NOTE}`],
    ['a hexadecimal Content-Length', () => `${post}Content-Length: 0x14\r\n\r\n${NOTE}`],
    ['a Content-Length beyond 2^64', () => `${post}Content-Length: 18446744073709551636\r\n\r\n${NOTE}`],
    ['an empty Content-Length', () => `${post}Content-Length: \r\n\r\n${NOTE}`],
    [
      'two Transfer-Encodings',
      () => `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`,
    ],
    ['chunked twice', () => `${post}Transfer-Encoding: chunked, chunked\r\n\r\n${CHUNKED}`],
    ['chunked not last', () => `${post}Transfer-Encoding: chunked, identity\r\n\r\n${CHUNKED}`],
    ['another coding before chunked', () => `${post}Transfer-Encoding: gzip, chunked\r\n\r\n${CHUNKED}`],
    ['an unknown coding', () => `${post}Transfer-Encoding: xchunked\r\n\r\n${CHUNKED}`],
    ['identity', () => `${post}Transfer-Encoding: identity\r\n\r\n${NOTE}`],
    ['a quoted coding', () => `${post}Transfer-Encoding: "chunked"\r\n\r\n${CHUNKED}`],
    ['a vertical tab before chunked', () => `${post}Transfer-Encoding: \x0bchunked\r\n\r\n${CHUNKED}`],
    [
      'Transfer-Encoding in HTTP/1.0',
      () =>
        `${post}Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`.replace('HTTP/1.1', 'HTTP/1.0'),
    ],
    ['a chunk size with 0x', () => `${post}Transfer-Encoding: chunked\r\n\r\n0x14\r\n${NOTE}\r\n0\r\n\r\n`],
    [
      'a chunk size that is too large',
      () => `${post}Transfer-Encoding: chunked\r\n\r\n1${'0'.repeat(20)}\r\n${NOTE}\r\n0\r\n\r\n`,
    ],
    ['a chunk shorter than its size', () => `${post}Transfer-Encoding: chunked\r\n\r\n13\r\n${NOTE}\r\n0\r\n\r\n`],
    ['a bare LF after a chunk size', () => `${post}Transfer-Encoding: chunked\r\n\r\n14\n${NOTE}\r\n0\r\n\r\n`],
    ['a bare LF after the request line', () => `${post.replace('\r\n', '\n')}Content-Length: 20\r\n\r\n${NOTE}`],
    ['bare LFs', () => `${post}Content-Length: 20\r\n\r\n${NOTE}`.replaceAll('\r\n', '\n')],
    ['a bare LF in a header', () => `${post}X: a\nContent-Length: 20\r\n\r\n${NOTE}`],
    ['a bare CR in a header', () => `${post}X: a\rb\r\nContent-Length: 20\r\n\r\n${NOTE}`],
    ['a NUL in a header', () => `${post}X: a\0b\r\nContent-Length: 20\r\n\r\n${NOTE}`],
    ['a folded header', () => `${post}X: a\r\n b\r\nContent-Length: 20\r\n\r\n${NOTE}`],
    ['a folded Transfer-Encoding', () => `${post}Transfer-Encoding:\r\n chunked\r\n\r\n${CHUNKED}`],
    ['a space before the colon', () => `${post}Content-Length : 20\r\n\r\n${NOTE}`],
    [
      'a space before a name',
      () => `POST /api/v1/notes HTTP/1.1\r\n Host: localhost\r\n${json}Content-Length: 20\r\n\r\n${NOTE}`,
    ],
    ['a header without a colon', () => `${post}Content-Length\r\n\r\n${NOTE}`],
    ['a header without a name', () => `${post}: x\r\nContent-Length: 20\r\n\r\n${NOTE}`],
    ['no Host', () => `POST /api/v1/notes HTTP/1.1\r\n${json}Content-Length: 20\r\n\r\n${NOTE}`],
    ...[
      'a b',
      'a/b?c#d',
      'user@a',
      'a, b',
      'a:b',
      'a:80:80',
      'http://a',
      '[::1',
      '::1',
      '[a]',
      '[::1]x',
      '[fe80::1%25lo]',
      'a%zz',
      'ä',
      'a\\b',
      '"a"',
      '<a>',
      'a:-1',
    ].map(
      (host) =>
        [
          `Host: ${host}`,
          () => `${post.replace('Host: localhost', `Host: ${host}`)}Content-Length: 20\r\n\r\n${NOTE}`,
        ] as const,
    ),
    ['two Hosts', () => `${post}Host: localhost\r\nContent-Length: 20\r\n\r\n${NOTE}`],
    ['two Content-Types', () => `${post}Content-Type: text/plain\r\nContent-Length: 20\r\n\r\n${NOTE}`],
    ['HTTP/2.0', () => `${post}Content-Length: 20\r\n\r\n${NOTE}`.replace('HTTP/1.1', 'HTTP/2.0')],
    ['HTTP/1.2', () => `${post}Content-Length: 20\r\n\r\n${NOTE}`.replace('HTTP/1.1', 'HTTP/1.2')],
    ['HTTP/0.9', () => `${post}Content-Length: 20\r\n\r\n${NOTE}`.replace('HTTP/1.1', 'HTTP/0.9')],
    ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['no HTTP at all', () => 'hello\r\n\r\n'],
  ] as const) {
    it(`${what} is 400 and the connection ends: nothing behind it is answered or done`, async () => {
      const before = await notes()
      const bytes = Buffer.from(faulty(), 'latin1')
      const { answers, closed } = await converse(server.url, [bytes, NEXT])
      expect([answers.map(({ status }) => status), closed]).to.deep.equal([[400], true])
      expect(answers[0]?.headers).to.include({ connection: 'close', 'content-type': 'application/problem+json' })
      const together = await converse(server.url, [Buffer.concat([bytes, Buffer.from(NEXT)])])
      expect([together.answers.map(({ status }) => status), together.closed]).to.deep.equal([[400], true])
      expect(await notes()).to.equal(before)
    })
  }

  it('every one of these leaves one decision record an answer', async () => {
    const { answers } = await converse(server.url, [`${post}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`])
    const { instance } = JSON.parse(answers[0]?.text ?? '{}')
    const found = (await server.decisions()).filter(({ requestId }) => `urn:uuid:${requestId}` === instance)
    expect(found.map(({ status, problem, route, subject }) => ({ status, problem, route, subject }))).to.deep.equal([
      { status: 400, problem: 'malformed-request', route: '/api/v1/notes', subject: 'alice' },
    ])
  })

  function notes(): Promise<number> {
    return server.app.seeding.count('notes')
  }
})
