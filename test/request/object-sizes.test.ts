/** limits.yaml, `object` and `answer`: no object grows without bound, and no page of a list is longer than that. */
import { expect } from 'chai'
import type { TestServer } from '../server.ts'
import { startWithThings } from './things.ts'

const LIMITS = 'page: { default: 50, max: 200 }\nlimits: {}\n'

function startLimited(limits: string): Promise<TestServer> {
  return startWithThings([], { files: { 'policies/limits.yaml': `${limits}\n${LIMITS}` } })
}

describe('an object', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startLimited('body: 20kb\nobject: 50kb')
    token = await server.token('ada', 'admin')
  })
  after(() => server.stop())

  const LIMIT = 50 * 1024

  it('does not grow by PATCH beyond the limit: then it is 413, and stays as it was', async () => {
    const path = await create({ doc: {} })
    let largest = 0
    for (let part = 0; ; part++) {
      const { status, body } = await patch(path, { doc: { [`part${part}`]: 'x'.repeat(10_000) } })
      if (status !== 200) {
        expect([status, body.code]).to.deep.equal([413, 'object-too-large'])
        expect(body.detail).to.equal('The object would have more than 51200 bytes as JSON; make it smaller.')
        break
      }
      largest = part
    }
    expect(largest).to.equal(4)
    const { body } = await server.ask('GET', path, { token })
    expect(Object.keys(body.doc)).to.have.length(5)
    const record = (await server.decisions()).findLast(({ problem }) => problem === 'object-too-large')
    expect(record).to.deep.include({ method: 'PATCH', outcome: 'refused', status: 413 })
  })

  it('may have exactly the limit as JSON, and one byte more is 413, however the characters are written', async () => {
    for (const letter of ['x', 'ä', '\u{1f600}']) {
      const path = await create({ title: '' })
      const rest = LIMIT - Buffer.byteLength(JSON.stringify({ doc: { a: '', b: '', c: '' }, title: '' }))
      const third = letter.repeat(Math.floor(rest / 3 / Buffer.byteLength(letter)))
      const fill = 'x'.repeat(rest - 3 * Buffer.byteLength(third))
      for (const name of ['a', 'b', 'c']) expect((await patch(path, { doc: { [name]: third } })).status).to.equal(200)
      expect((await patch(path, { title: `${fill}x` })).status, letter).to.equal(413)
      expect((await patch(path, { title: fill })).status, letter).to.equal(200)
    }
  })

  it('does not grow by a JSON Patch, PUT or POST either', async () => {
    const path = await create({ doc: { a: 'x'.repeat(15_000) } })
    const copies = [1, 2, 3].map((i) => ({ op: 'copy', from: '/doc/a', path: `/doc/${i}` }))
    const headers = { 'content-type': 'application/json-patch+json' }
    expect((await server.ask('PATCH', path, { token, headers, body: JSON.stringify(copies) })).status).to.equal(413)
    const small = await startLimited('body: 20kb\nobject: 1kb')
    try {
      const admin = await small.token('ada', 'admin')
      const body = { title: 'x'.repeat(2000) }
      expect((await small.ask('POST', '/things', { token: admin, body })).status).to.equal(413)
      const made = await small.ask('POST', '/things', { token: admin, body: { title: 't' } })
      expect((await small.ask('PUT', made.headers.get('location') ?? '', { token: admin, body })).status).to.equal(413)
    } finally {
      await small.stop()
    }
  })

  it('that is too large already may become smaller, and stay as it is', async () => {
    const id = '01890a5d-ac96-774b-bcce-b302099a8057'
    const doc = Object.fromEntries([1, 2, 3, 4, 5, 6].map((i) => [`part${i}`, 'x'.repeat(15_000)]))
    await server.app.seeding.insert('things', [{ id, document: { doc } }])
    expect((await patch(`/things/${id}`, { title: 't' })).status).to.equal(413)
    expect((await patch(`/things/${id}`, { doc: { part1: null } })).status).to.equal(200)
    expect((await patch(`/things/${id}`, {})).status).to.equal(200)
    expect((await server.ask('GET', `/things/${id}`, { token })).status).to.equal(200)
  })

  it('may have 1mb where limits.yaml says nothing, or as much as a body where that is more', async () => {
    for (const [limits, size, status] of [
      ['body: 900kb', 1_100_000, 413],
      ['body: 900kb', 1_000_000, 200],
      ['body: 3mb', 2_000_000, 200],
    ] as const) {
      const large = await startLimited(limits)
      try {
        const admin = await large.token('ada', 'admin')
        const made = await large.ask('POST', '/things', { token: admin, body: { doc: { a: 'x'.repeat(size / 2) } } })
        const body = { doc: { b: 'x'.repeat(size / 2) } }
        const { status: patched } = await large.ask('PATCH', made.headers.get('location') ?? '', { token: admin, body })
        expect(patched, `${limits} ${size}`).to.equal(status)
      } finally {
        await large.stop()
      }
    }
  })

  async function create(body: object): Promise<string> {
    return (await server.ask('POST', '/things', { token, body })).headers.get('location') ?? ''
  }

  function patch(path: string, body: object) {
    return server.ask('PATCH', path, { token, body })
  }
})

describe('a page of a list', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startLimited('body: 100kb\nobject: 50kb\nanswer: 100kb')
    token = await server.token('ada', 'admin')
    const sizes = [40, 40, 10, 1, 1, 200, 40, 1, 30, 30, 30, 30]
    const objects = sizes.map((kilobytes, i) => ({
      id: `01890a5d-ac96-774b-bcce-b302099a80${10 + i}`,
      document: { title: String(i), doc: 'ä'.repeat((kilobytes * 1024) / 2) },
    }))
    await server.app.seeding.insert('things', objects)
  })
  after(() => server.stop())

  for (const query of ['', '?limit=3', '?limit=200', '?limit=200&sort=-id', '?fields=id,title,doc']) {
    it(`ends early, with next, before it is longer than the limit; all pages have every object once: ${query}`, async () => {
      const seen: string[] = []
      let path: string | undefined = `/things${query}`
      while (path !== undefined) {
        const { status, body, text, headers } = await server.ask('GET', path, { token })
        expect(status).to.equal(200)
        const titles: readonly string[] = body.items.map(({ title }: { title: string }) => title)
        expect(titles.length).to.be.within(1, 5)
        if (titles.length > 1) expect(Buffer.byteLength(text)).to.be.below(101 * 1024)
        seen.push(...titles)
        path = body.next === null ? undefined : headers.get('link')?.match(/<(.*)>/)?.[1]
      }
      const all = Array.from({ length: 12 }, (_, i) => String(i))
      expect(seen.toSorted((a, b) => Number(a) - Number(b))).to.deep.equal(all)
    })
  }

  it('is one object where that alone is longer', async () => {
    const id = '01890a5d-ac96-774b-bcce-b302099a8014'
    const { body } = await server.ask('GET', `/things?id[gt]=${id}&limit=50`, { token })
    expect(body.items.map(({ title }: { title: string }) => title)).to.deep.equal(['5'])
    expect(body.next).to.be.a('string')
    expect((await server.ask('GET', `/things/${body.items[0].id}`, { token })).status).to.equal(200)
  })
})
