/** PATCH follows RFC 7396: every example of its appendix A, over real HTTP. */
import { expect } from 'chai'
import type { TestServer } from '../server.ts'
import { startWithThings } from './things.ts'

/** Original, patch, result. */
const APPENDIX_A: readonly (readonly [unknown, unknown, unknown])[] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, undefined],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

describe('PATCH with a merge patch', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startWithThings()
    token = await server.token('ada', 'admin')
  })
  after(() => server.stop())

  for (const type of ['application/merge-patch+json', 'application/json']) {
    it(`${type}: every example of RFC 7396 appendix A`, async () => {
      for (const [original, patch, result] of APPENDIX_A) {
        const path = await create({ doc: original, size: 7 })
        const { status, body } = await patchWith(path, { doc: patch }, type)
        const said = JSON.stringify(patch)
        expect([status, body.doc, body.size], said).to.deep.equal([200, result, 7])
        expect('doc' in body, said).to.equal(result !== undefined)
        expect((await server.ask('GET', path, { token })).body).to.deep.equal(body)
      }
    })
  }

  it('a patch of the whole that is no object is refused: a resource stays an object', async () => {
    const path = await create({ title: 't' })
    for (const body of ['null', '"bar"', '["c"]', '7']) {
      expect((await patchWith(path, body)).status, body).to.equal(400)
    }
  })

  it('the result is validated, not the patch', async () => {
    const path = await create({ title: 't', size: 1 })
    expect((await patchWith(path, { title: null })).body).not.to.have.property('title')
    const { status, body } = await patchWith(path, { size: 'large', title: 7 })
    expect([status, body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()]).to.deep.equal([
      400,
      ['/size', '/title'],
    ])
  })

  it('an empty patch changes no field and is 200', async () => {
    const path = await create({ title: 't', doc: { a: [1] } })
    const { body: before } = await server.ask('GET', path, { token })
    const { status, body } = await patchWith(path, {})
    expect(status).to.equal(200)
    expect({ ...body, updatedAt: before.updatedAt }).to.deep.equal(before)
  })

  it('names of Object are plain data: they never reach a prototype', async () => {
    const path = await create({ title: 't', doc: { keep: 1 } })
    const hostile =
      '{"doc":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"prototype":1}}'
    const { status, text } = await patchWith(path, hostile)
    expect(status).to.equal(200)
    expect(text).to.contain('"__proto__":{"polluted":true}').and.to.contain('"keep":1')
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined)
    const removed = await patchWith(path, '{"doc":{"__proto__":null,"constructor":null,"prototype":null}}')
    expect(removed.body.doc).to.deep.equal({ keep: 1 })
    for (const name of ['__proto__', 'constructor', 'prototype', 'toString']) {
      const { status: refused, body } = await patchWith(path, `{"${name}":{"title":"x"}}`)
      expect([refused, body.errors?.[0]?.pointer], name).to.deep.equal([400, `/${name}`])
    }
  })

  async function create(body: Readonly<Record<string, unknown>>): Promise<string> {
    const { status, headers } = await server.ask('POST', '/things', { token, body })
    expect(status).to.equal(201)
    return headers.get('location') ?? ''
  }

  function patchWith(path: string, body: unknown, type = 'application/merge-patch+json') {
    return server.ask('PATCH', path, { token, body, headers: { 'content-type': type } })
  }
})
