/** JSON is taken strictly: what two readers could read in two ways, or a store could not give back, is 400. */
import { expect } from 'chai'
import type { Answer, TestServer } from '../server.ts'
import { startWithThings } from './things.ts'

describe('a JSON body', () => {
  let server: TestServer
  let token: string

  before(async () => {
    const limits = 'body: 1mb\npage: { default: 50, max: 200 }\nlimits: {}\n'
    server = await startWithThings([], { files: { 'policies/limits.yaml': limits } })
    token = await server.token('ada', 'admin')
  })
  after(() => server.stop())

  it('comes back as it was: text of every script, numbers up to 2^53 - 1, structures', async () => {
    const doc = [
      'ü',
      '日本',
      '😀',
      '\u2028\u2029',
      '\u0085',
      '"\\/',
      9007199254740991,
      -9007199254740991,
      0.1,
      1e-7,
      [[]],
      {},
    ]
    const { status, body } = await server.ask('POST', '/things', { token, body: { doc } })
    expect([status, body.doc]).to.deep.equal([201, doc])
    const escaped = await post('{"doc":"\\ud83d\\ude00\\u00fc"}')
    expect([escaped.status, escaped.body.doc]).to.deep.equal([201, '😀ü'])
  })

  for (const [what, text] of [
    ['nothing but white space', '  \r\n\t '],
    ['what is cut off', '{"title":"t"'],
    ['what is no JSON', 'title=t'],
    ['a comment', '{"title":"t"/* x */}'],
    ['a line comment', '{"title":"t"} // x'],
    ['a trailing comma', '{"title":"t",}'],
    ['single quotes', "{'title':'t'}"],
    ['a name without quotes', '{title:"t"}'],
    ['two values', '{"title":"t"}{"title":"u"}'],
    ['a value and more', '{"title":"t"} x'],
    ['a raw line break in text', '{"title":"a\nb"}'],
    ['a raw tab in text', '{"title":"a\tb"}'],
    ['an unknown escape', '{"title":"\\x41"}'],
    ['half an escape', '{"title":"\\u12"}'],
    ['a leading zero', '{"size":01}'],
    ['a plus sign', '{"size":+1}'],
    ['a number without digits', '{"doc":1.}'],
    ['a hexadecimal number', '{"size":0x10}'],
    ['NaN', '{"doc":NaN}'],
    ['Infinity', '{"doc":-Infinity}'],
    ['undefined', '{"doc":undefined}'],
    ['a no-break space', '{\u00a0"title":"t"}'],
    ['a byte order mark', '\ufeff{"title":"t"}'],
    ['a byte order mark inside', '{"title":\ufeff"t"}'],
    ['a lone surrogate in a value', '{"title":"\\ud800"}'],
    ['a lone surrogate in the wrong order', '{"title":"\\ude00\\ud83d"}'],
    ['a lone surrogate in a name', '{"doc":{"\\udfff":1}}'],
    ['U+0000 in a value', '{"title":"a\\u0000b"}'],
    ['U+0000 in a name', '{"doc":{"\\u0000":1}}'],
    ['a name that stands twice', '{"title":"a","title":"b"}'],
    ['a name that stands twice inside', '{"doc":[{"a":1,"a":1}]}'],
    ['a name that stands twice, once escaped', '{"title":"a","\\u0074itle":"b"}'],
    ['2^53', '{"size":9007199254740992}'],
    ['an integer beyond 2^53', '{"doc":[-9007199254740993]}'],
    ['a long integer', `{"doc":${'9'.repeat(400)}}`],
    ['1e999', '{"doc":1e999}'],
    ['100,000 nested arrays', `{"doc":${'['.repeat(100_000)}`],
    ['100,000 nested arrays, closed', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['100,000 nested objects', '{"a":'.repeat(100_000)],
  ] as const) {
    it(`${what} is 400`, async () => {
      expectRefused(await post(text), what)
    })
  }

  it('bytes that are not UTF-8 are 400', async () => {
    for (const [what, bytes] of [
      ['Latin-1', Buffer.from('{"title":"\xe9"}', 'latin1')],
      ['UTF-16, little end first', Buffer.from('{"title":"t"}', 'utf16le')],
      ['UTF-16 with a byte order mark', Buffer.from('\ufeff{"title":"t"}', 'utf16le')],
      ['UTF-16, big end first', Buffer.from('{"title":"t"}', 'utf16le').swap16()],
      ['UTF-32', Buffer.from([...'{"title":"t"}'].flatMap((one) => [one.charCodeAt(0), 0, 0, 0]))],
      ['an overlong form', Buffer.from('7b227469746c65223a22c0af227d', 'hex')],
      ['an encoded surrogate', Buffer.from('7b227469746c65223a22eda080227d', 'hex')],
      ['a cut-off character', Buffer.from('7b227469746c65223a22f09f98227d', 'hex')],
      ['beyond U+10FFFF', Buffer.from('7b227469746c65223a22f4908080227d', 'hex')],
    ] as const) {
      expectRefused(await post(bytes), what)
    }
    expect((await post(Buffer.from('{"title":"é"}'))).status).to.equal(201)
  })

  it('a body that is no object is 400', async () => {
    for (const text of ['null', 'true', '7', '"t"', '[]', '[{"title":"t"}]']) {
      const { status, body } = await post(text)
      expect([status, body.code], text).to.deep.equal([400, 'invalid-body'])
    }
  })

  it('the place of a fault is told', async () => {
    const { body } = await post('{\n  "title": "t",\n  "title": "u"\n}')
    expect(body.detail).to.contain('line 3, column 3')
  })

  it('is nested at most 32 deep', async () => {
    const nested = (depth: number) => `{"doc":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
    expect((await post(nested(32))).status).to.equal(201)
    expectRefused(await post(nested(33)), 'one deeper')
  })

  function post(body: string | Buffer): Promise<Answer> {
    return typeof body === 'string' ? server.ask('POST', '/things', { token, body }) : postBytes(body)
  }

  async function postBytes(bytes: Buffer): Promise<Answer> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = { method: 'POST', headers, body: new Uint8Array(bytes) }
    const response = await fetch(`${server.url}/things`, sent)
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
  }
})

function expectRefused({ status, body }: Answer, what: string): void {
  expect([status, body.code], what).to.deep.equal([400, 'invalid-json'])
}
