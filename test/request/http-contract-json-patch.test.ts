/** docs/http.md, "PATCH": JSON Patch (RFC 6902) over real HTTP, whole or not at all. */
import { expect } from 'chai'
import { cpuMs } from '../measure.ts'
import type { Answer, TestServer } from '../server.ts'
import { startWithThings } from './things.ts'

const TYPE = 'application/json-patch+json'

/** RFC 6902 appendix A: name, document, patch, and the result or the status. */
const APPENDIX_A: readonly (readonly [string, unknown, readonly unknown[], unknown])[] = [
  ['A.1', { foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux' }], { baz: 'qux', foo: 'bar' }],
  ['A.2', { foo: ['bar', 'baz'] }, [{ op: 'add', path: '/foo/1', value: 'qux' }], { foo: ['bar', 'qux', 'baz'] }],
  ['A.3', { baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
  ['A.4', { foo: ['bar', 'qux', 'baz'] }, [{ op: 'remove', path: '/foo/1' }], { foo: ['bar', 'baz'] }],
  ['A.5', { baz: 'qux', foo: 'bar' }, [{ op: 'replace', path: '/baz', value: 'boo' }], { baz: 'boo', foo: 'bar' }],
  [
    'A.6',
    { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
    [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
    { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
  ],
  [
    'A.7',
    { foo: ['all', 'grass', 'cows', 'eat'] },
    [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
    { foo: ['all', 'cows', 'eat', 'grass'] },
  ],
  [
    'A.8',
    { baz: 'qux', foo: ['a', 2, 'c'] },
    [
      { op: 'test', path: '/baz', value: 'qux' },
      { op: 'test', path: '/foo/1', value: 2 },
    ],
    { baz: 'qux', foo: ['a', 2, 'c'] },
  ],
  ['A.9', { baz: 'qux' }, [{ op: 'test', path: '/baz', value: 'bar' }], 409],
  [
    'A.10',
    { foo: 'bar' },
    [{ op: 'add', path: '/child', value: { grandchild: {} } }],
    { foo: 'bar', child: { grandchild: {} } },
  ],
  ['A.11', { foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux', xyz: 123 }], { foo: 'bar', baz: 'qux' }],
  ['A.12', { foo: 'bar' }, [{ op: 'add', path: '/baz/bat', value: 'qux' }], 409],
  ['A.14', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
  ['A.15', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: '10' }], 409],
  ['A.16', { foo: ['bar'] }, [{ op: 'add', path: '/foo/-', value: ['abc', 'def'] }], { foo: ['bar', ['abc', 'def']] }],
]

describe('PATCH with a JSON Patch', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startWithThings()
    token = await server.token('ada', 'admin')
  })
  after(() => server.stop())

  for (const [name, original, patch, result] of APPENDIX_A) {
    it(`RFC 6902 appendix ${name}`, async () => {
      const path = await create({ doc: original })
      const inDoc = patch.map((one) => {
        const { from, path: at, ...rest } = one as { from?: string; path: string }
        return { ...rest, path: `/doc${at}`, ...(from === undefined ? {} : { from: `/doc${from}` }) }
      })
      const answer = await patchWith(path, inDoc)
      expect(answer.status).to.equal(typeof result === 'number' ? result : 200)
      expect(await docOf(path)).to.deep.equal(typeof result === 'number' ? original : result)
    })
  }

  it('RFC 6902 appendix A.13: a document with a member twice is 400', async () => {
    const path = await create({ doc: 1 })
    const { status, body } = await patchWith(path, '[{"op":"add","path":"/doc","value":2,"op":"remove"}]')
    expect([status, body.code]).to.deep.equal([400, 'invalid-json'])
  })

  it('says no more than the representation, with its tag, and an empty patch changes no field', async () => {
    const path = await create({ title: 't' })
    const { status, body, headers } = await patchWith(path, [])
    expect([status, body.title]).to.deep.equal([200, 't'])
    const read = await server.ask('GET', path, { token })
    expect([read.body, read.headers.get('etag')]).to.deep.equal([body, headers.get('etag')])
  })

  it('is all or nothing: what comes before a fault has no effect', async () => {
    const path = await create({ title: 'before', size: 1 })
    const first = { op: 'replace', path: '/title', value: 'after' }
    for (const [last, status] of [
      [{ op: 'test', path: '/size', value: 2 }, 409],
      [{ op: 'remove', path: '/doc' }, 409],
      [{ op: 'replace', path: '/size', value: 'large' }, 400],
      [{ op: 'add', path: '/nope', value: 1 }, 400],
      [{ op: 'replace', path: '/id', value: 'x' }, 400],
    ] as const) {
      expect((await patchWith(path, [first, last])).status, JSON.stringify(last)).to.equal(status)
    }
    const { body } = await server.ask('GET', path, { token })
    expect([body.title, body.size, body.updatedAt]).to.deep.equal(['before', 1, body.createdAt])
  })

  it('a test that fails is 409 patch-test-failed, and points into the patch', async () => {
    const path = await create({ size: 1 })
    const { status, body } = await patchWith(path, [
      { op: 'test', path: '/size', value: 1 },
      { op: 'test', path: '/size', value: 2 },
    ])
    expect([status, body.code, body.errors[0].pointer]).to.deep.equal([409, 'patch-test-failed', '/1/value'])
  })

  it('a place that is not there is 409 patch-conflict (RFC 5789 section 2.2), and points into the patch', async () => {
    const path = await create({ doc: { list: [1] } })
    for (const [operation, pointer] of [
      [{ op: 'remove', path: '/title' }, '/0/path'],
      [{ op: 'replace', path: '/title', value: 'x' }, '/0/path'],
      [{ op: 'test', path: '/title', value: 'x' }, '/0/path'],
      [{ op: 'add', path: '/doc/a/b', value: 1 }, '/0/path'],
      [{ op: 'add', path: '/doc/list/2', value: 1 }, '/0/path'],
      [{ op: 'remove', path: '/doc/list/1' }, '/0/path'],
      [{ op: 'add', path: '/doc/list/0/x', value: 1 }, '/0/path'],
      [{ op: 'copy', from: '/title', path: '/doc' }, '/0/from'],
      [{ op: 'move', from: '/doc/list/7', path: '/doc/x' }, '/0/from'],
      [{ op: 'copy', from: '/doc', path: '/doc/none/x' }, '/0/path'],
      [{ op: 'add', path: '/doc/list/4294967296', value: 1 }, '/0/path'],
    ] as const) {
      const { status, body } = await patchWith(path, [operation])
      const said = JSON.stringify(operation)
      expect([status, body.code, body.errors[0].pointer], said).to.deep.equal([409, 'patch-conflict', pointer])
    }
  })

  it('a document that is no JSON Patch is 400 with all faults at once, as pointers into it', async () => {
    const path = await create({ title: 't', doc: [1] })
    for (const [patch, pointers] of [
      [{ op: 'add', path: '/title', value: 'x' }, ['']],
      [null, ['']],
      ['"x"', ['']],
      [
        [null, 7, []],
        ['/0', '/1', '/2'],
      ],
      [[{}], ['/0/op', '/0/path']],
      [[{ op: 'Add', path: '/title', value: 1 }], ['/0/op']],
      [[{ op: ['add'], path: '/title', value: 1 }], ['/0/op']],
      [[{ op: 'add', path: '/title' }], ['/0/value']],
      [[{ op: 'add', path: 'title', value: 1 }], ['/0/path']],
      [[{ op: 'add', path: 7, value: 1 }], ['/0/path']],
      [[{ op: 'add', path: '', value: {} }], ['/0/path']],
      [[{ op: 'replace', path: '', value: {} }], ['/0/path']],
      [[{ op: 'test', path: '', value: {} }], ['/0/path']],
      [[{ op: 'remove', path: '' }], ['/0/path']],
      [[{ op: 'copy', from: '', path: '/doc' }], ['/0/from']],
      [[{ op: 'move', path: '/doc' }], ['/0/from']],
      [[{ op: 'move', from: '/doc', path: '/doc/0' }], ['/0/path']],
      [[{ op: 'add', path: '/title~', value: 1 }], ['/0/path']],
      [[{ op: 'add', path: '/title~2', value: 1 }], ['/0/path']],
      [[{ op: 'add', path: '/', value: 1 }], ['/0/path']],
      [[{ op: 'add', path: '/a~1b', value: 1 }], ['/0/path']],
      [[{ op: 'add', path: '/unknown', value: 1 }], ['/0/path']],
      [[{ op: 'remove', path: '/__proto__' }], ['/0/path']],
      [[{ op: 'add', path: '/__proto__/polluted', value: 1 }], ['/0/path']],
      [[{ op: 'add', path: '/constructor/prototype/polluted', value: 1 }], ['/0/path']],
      [[{ op: 'test', path: '/toString', value: 1 }], ['/0/path']],
      [[{ op: 'copy', from: '/hasOwnProperty', path: '/doc' }], ['/0/from']],
      [[{ op: 'add', path: '/doc/01', value: 1 }], ['/0/path']],
      [[{ op: 'add', path: '/doc/1e0', value: 1 }], ['/0/path']],
      [[{ op: 'add', path: '/doc/-1', value: 1 }], ['/0/path']],
      [[{ op: 'add', path: '/doc/ 0', value: 1 }], ['/0/path']],
      [[{ op: 'add', path: '/doc/length', value: 1 }], ['/0/path']],
      [[{ op: 'add', path: '/doc/__proto__', value: 1 }], ['/0/path']],
      [[{ op: 'test', path: '/doc/00', value: 1 }], ['/0/path']],
      [[{ op: 'remove', path: '/doc/-' }], ['/0/path']],
      [[{ op: 'test', path: '/doc/-', value: 1 }], ['/0/path']],
      [[{ op: 'replace', path: '/doc/-', value: 1 }], ['/0/path']],
      [[{ op: 'copy', from: '/doc/-', path: '/doc/0' }], ['/0/from']],
      [[{ op: 'add', path: '/doc/-/x', value: 1 }], ['/0/path']],
      [
        [{ op: 'add', path: '/x', value: 1 }, { op: 'add', path: '/title', value: 'x' }, { op: 'no' }],
        ['/0/path', '/2/op', '/2/path'],
      ],
    ] as const) {
      const { status, body } = await patchWith(path, patch)
      const said = JSON.stringify(patch)
      expect([status, body.code], said).to.deep.equal([400, 'invalid-patch'])
      expect(
        body.errors.map(({ pointer }: { pointer: string }) => pointer),
        said,
      ).to.deep.equal(pointers)
    }
    expect((await server.ask('GET', path, { token })).body).to.include({ title: 't' })
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined)
  })

  it('the result is validated, not the patch: what is made right again on the way is fine', async () => {
    const path = await create({ title: 't', size: 1 })
    const { status, body } = await patchWith(path, [
      { op: 'replace', path: '/size', value: 'on the way' },
      { op: 'move', from: '/size', path: '/title' },
      { op: 'add', path: '/size', value: 7 },
    ])
    expect([status, body.title, body.size]).to.deep.equal([200, 'on the way', 7])
    const faulty = await patchWith(path, [
      { op: 'replace', path: '/size', value: 'x' },
      { op: 'replace', path: '/title', value: 7 },
    ])
    expect([faulty.status, faulty.body.code]).to.deep.equal([400, 'invalid-body'])
    expect(faulty.body.errors.map(({ pointer }: { pointer: string }) => pointer)).to.have.members(['/size', '/title'])
  })

  it("the server's fields can be tested and brought back, and never changed", async () => {
    const path = await create({ title: 't' })
    const { body: before } = await server.ask('GET', path, { token })
    const same = [
      { op: 'test', path: '/id', value: before.id },
      { op: 'replace', path: '/createdAt', value: before.createdAt },
    ]
    expect((await patchWith(path, same)).status).to.equal(200)
    for (const operation of [
      { op: 'replace', path: '/id', value: 'x' },
      { op: 'remove', path: '/createdAt' },
      { op: 'move', from: '/updatedAt', path: '/title' },
      { op: 'add', path: '/updatedAt', value: '2020-01-01T00:00:00.000Z' },
    ]) {
      const { status, body } = await patchWith(path, [operation])
      expect([status, body.errors[0].code], JSON.stringify(operation)).to.deep.equal([400, 'readOnly'])
    }
  })

  it('names of Object deeper down are plain data: they never reach a prototype', async () => {
    const path = await create({ doc: { keep: 1 } })
    const { status, text } = await patchWith(
      path,
      '[{"op":"add","path":"/doc/__proto__","value":{"polluted":true}},{"op":"add","path":"/doc/__proto__/more","value":1},' +
        '{"op":"add","path":"/doc/constructor","value":{"prototype":{"polluted":true}}},{"op":"copy","from":"/doc/constructor","path":"/doc/prototype"}]',
    )
    expect(status).to.equal(200)
    expect(text).to.contain('"__proto__":{"polluted":true,"more":1}').and.to.contain('"keep":1')
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined)
    for (const operation of [
      { op: 'test', path: '/doc/toString', value: null },
      { op: 'copy', from: '/doc/hasOwnProperty', path: '/title' },
      { op: 'remove', path: '/doc/valueOf' },
    ]) {
      const { status: refused, body } = await patchWith(path, [operation])
      expect([refused, body.code], operation.op).to.deep.equal([409, 'patch-conflict'])
    }
    const gone = ['__proto__', 'constructor', 'prototype'].map((name) => ({ op: 'remove', path: `/doc/${name}` }))
    expect((await patchWith(path, gone)).body.doc).to.deep.equal({ keep: 1 })
  })

  it('has at most 1,000 operations', async () => {
    const path = await create({ size: 0 })
    const many = (length: number) => Array.from({ length }, (_, size) => ({ op: 'add', path: '/size', value: size }))
    expect((await patchWith(path, many(1000))).body.size).to.equal(999)
    const { status, body } = await patchWith(path, many(1001))
    expect([status, body.code, body.errors[0].pointer]).to.deep.equal([400, 'invalid-patch', ''])
  })

  it('that is too large or nested too deeply is refused before it is understood', async () => {
    const path = await create({ size: 0 })
    const deep = `${'['.repeat(40)}${']'.repeat(40)}`
    expect((await patchWith(path, `[{"op":"add","path":"/doc","value":${deep}}]`)).status).to.equal(400)
    expect((await patchWith(path, '['.repeat(100_000))).status).to.equal(400)
    expect((await patchWith(path, `[${'{"op":"remove","path":"/size"},'.repeat(5000)}]`)).status).to.equal(413)
  })

  it('copies that double the object are cut, in size and in depth', async () => {
    const path = await create({ doc: { a: 'x'.repeat(1000) } })
    const doubling = Array.from({ length: 30 }, (_, i) => ({ op: 'copy', from: '/doc', path: `/doc/b${i}` }))
    const wide = await patchWith(path, doubling)
    expect([wide.status, wide.body.code]).to.deep.equal([400, 'invalid-patch'])
    expect(wide.body.errors[0].pointer).to.match(/^\/\d+\/(from|path)$/)
    expect(wide.body.errors[0].detail).to.equal('copies and moves too much; split the patch')
    const small = await create({ doc: {} })
    const nesting = Array.from({ length: 100 }, () => ({ op: 'copy', from: '/doc', path: '/doc/a' }))
    expect((await patchWith(small, nesting)).body.code).to.equal('invalid-patch')
    const stepwise = Array.from({ length: 100 }, (_, i) => ({
      op: 'add',
      path: `/doc${'/a'.repeat(i + 1)}`,
      value: {},
    }))
    expect((await patchWith(small, stepwise)).body.code).to.equal('invalid-patch')
    const pointer = await patchWith(small, [{ op: 'add', path: '/doc'.repeat(5000), value: 1 }])
    expect([pointer.status, pointer.body.code]).to.deep.equal([400, 'invalid-patch'])
    expect(await docOf(small)).to.deep.equal({})
  })

  it('the largest object and the longest patch do not hold the server up', async () => {
    const path = await create({
      doc: { wide: Object.fromEntries(Array.from({ length: 8000 }, (_, i) => [`k${i}`, i])) },
    })
    const long = await create({ doc: Array.from({ length: 30_000 }, () => 1) })
    const operations = (at: string) => Array.from({ length: 1000 }, () => ({ op: 'add', path: at, value: 1 }))
    const took = await cpuMs(async () => {
      expect((await patchWith(path, operations('/doc/wide/x'))).status).to.equal(200)
      expect((await patchWith(long, operations('/doc/0'))).status).to.equal(200)
    })
    expect(took).to.be.lessThan(3000)
  })

  it('412 and 428 come before the 409 of the patch', async () => {
    const path = await create({ size: 1 })
    const headers = { 'if-match': '"x"' }
    const failing = [{ op: 'test', path: '/size', value: 2 }]
    expect((await patchWith(path, failing, headers)).status).to.equal(412)
    expect((await patchWith(path, failing)).status).to.equal(409)
    expect((await patchWith(path, [{ op: 'nonsense' }], headers)).status).to.equal(400)
  })

  it('100 patches that test and count up at once lose no update', async () => {
    const path = await create({ size: 0 })
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        patchWith(path, [
          { op: 'test', path: '/size', value: 0 },
          { op: 'replace', path: '/size', value: 1 },
        ]),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1)
    expect(answers.filter(({ status }) => status === 409)).to.have.length(99)
  })

  async function create(body: Readonly<Record<string, unknown>>): Promise<string> {
    const { status, headers } = await server.ask('POST', '/things', { token, body })
    expect(status).to.equal(201)
    return headers.get('location') ?? ''
  }

  async function docOf(path: string): Promise<unknown> {
    return (await server.ask('GET', path, { token })).body.doc
  }

  function patchWith(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return server.ask('PATCH', path, { token, body: text, headers: { 'content-type': TYPE, ...headers } })
  }
})
