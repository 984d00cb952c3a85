/** The fields that only the server writes: what a body may say of them, on every method that takes one. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'

const NOTES = JSON.parse(readFileSync(new URL('../../schemas/notes.json', import.meta.url), 'utf8'))

/** Notes with a read-only field besides the server's. */
const WITH_NUMBER = { ...NOTES, properties: { ...NOTES.properties, number: { type: 'integer', readOnly: true } } }

const TIMES = ['createdAt', 'updatedAt']

const NO_TIMES = [5, {}, [], true, null, '', 'yesterday', '2027-02-30T00:00:00.000Z', '2026-11-20']

describe("the server's fields in a body", () => {
  let server: TestServer
  let token: string
  let path: string
  let tag: string

  before(async () => {
    server = await startTestServer({ files: { 'schemas/notes.json': JSON.stringify(WITH_NUMBER) } })
    token = await server.token('alice', 'member')
  })
  after(() => server.stop())
  beforeEach(async () => {
    const { headers } = await server.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })
    path = headers.get('location') ?? ''
    tag = headers.get('etag') ?? ''
  })

  /** The code of each fault, by its place. */
  async function faultsOf(method: string, body: unknown, headers: Readonly<Record<string, string>> = {}) {
    const target = method === 'POST' ? '/api/v1/notes' : path
    const { status, body: problem } = await server.ask(method, target, { token, body, headers })
    const errors: readonly { readonly pointer: string; readonly code: string }[] = problem.errors ?? []
    return [status, Object.fromEntries(errors.map(({ pointer, code }) => [pointer, code]))]
  }

  async function expectUnwritten() {
    const { headers } = await server.ask('GET', path, { token })
    expect(headers.get('etag')).to.equal(tag)
  }

  it('must be times where PUT ignores them: anything else is 400 and named, and nothing is written', async () => {
    for (const name of TIMES) {
      for (const value of NO_TIMES) {
        const code = typeof value === 'string' ? 'format' : 'type'
        const sent = { title: 'changed', [name]: value }
        expect(await faultsOf('PUT', sent), JSON.stringify(sent)).to.deep.equal([400, { [`/${name}`]: code }])
      }
    }
    const both = { title: '', createdAt: 5, updatedAt: {} }
    const named = { '/title': 'minLength', '/createdAt': 'type', '/updatedAt': 'type' }
    expect(await faultsOf('PUT', both)).to.deep.equal([400, named])
    await expectUnwritten()
  })

  it('are ignored by PUT where they are times, however old', async () => {
    const body = { title: 't', createdAt: '2020-01-01T00:00:00.000Z', updatedAt: '2020-01-01T01:00:00+01:00' }
    expect(await faultsOf('PUT', body)).to.deep.equal([200, {}])
    await expectUnwritten()
  })

  it('are 400 as read-only in every other body, whatever their values', async () => {
    const others: readonly [string, readonly unknown[]][] = [
      ...TIMES.map((name) => [name, [...NO_TIMES, '2020-01-01T00:00:00.000Z']] as const),
      ['id', [5, {}, null, 'mine', '01890a5d-ac96-774b-bcce-b302099a8057']],
      ['number', [5, {}, 'x']],
    ].map(([name, values]) => [name as string, values as readonly unknown[]])
    for (const [name, values] of others) {
      const readOnly = [400, { [`/${name}`]: 'readOnly' }]
      for (const value of values) {
        const sent = { title: 'changed', [name]: value }
        const told = JSON.stringify(sent)
        expect(await faultsOf('POST', sent), `POST ${told}`).to.deep.equal(readOnly)
        expect(await faultsOf('PATCH', sent), `PATCH ${told}`).to.deep.equal(readOnly)
        if (!TIMES.includes(name)) expect(await faultsOf('PUT', sent), `PUT ${told}`).to.deep.equal(readOnly)
        const patch = JSON.stringify([{ op: 'add', path: `/${name}`, value }])
        const type = { 'content-type': 'application/json-patch+json' }
        expect(await faultsOf('PATCH', patch, type), patch).to.deep.equal(readOnly)
      }
    }
    await expectUnwritten()
  })
})
