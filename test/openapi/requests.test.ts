/** The document is as strict as the server: what a schema of a request refuses is 400, and what it accepts isn't. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { expect } from 'chai'
import fc from 'fast-check'
import { drawing, runs } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { type Document, shipped, wholeDocument } from './fixture.ts'

const ENTITIES = [undefined, {}, { type: 'user', id: 'alice' }, { type: 'notes', id: 7 }, { type: 'notes' }, [], 'x']
const ACTIONS = [undefined, {}, { name: 'read' }, { name: 'read', properties: { body: 5 } }]
const CONTEXTS = [undefined, {}, { any: 'thing' }, { fields: [] }, { fields: ['title', 5] }, 7]
const EVALUATION = { subject: ENTITIES[2], resource: { type: 'notes', id: '7' }, action: { name: 'read' } }
const ITEMS = [undefined, [], [{}], [EVALUATION, EVALUATION], ['x'], {}]
const SEMANTICS = [undefined, {}, { evaluations_semantic: 'execute_all' }, { evaluations_semantic: 'x' }, { a: 1 }, 5]
const SQL = { dialect: 'sqlite', table: 'notes' }
const FORMS = [
  undefined,
  {},
  { ucast: true },
  { ucast: false },
  { ucast: false, sql: SQL },
  { sql: {} },
  { a: 1 },
  null,
]
const PAGES = [undefined, {}, { limit: 0 }, { limit: -1 }, { token: 5 }]

/** What each member of a body may be. */
type Members = Readonly<Record<string, readonly unknown[]>>

const ASKED = { subject: ENTITIES, resource: ENTITIES, action: ACTIONS, context: CONTEXTS }

const BODIES: Readonly<Record<string, Members>> = {
  '/access/v1/evaluation': ASKED,
  '/access/v1/evaluations': { ...ASKED, evaluations: ITEMS, options: SEMANTICS },
  '/access/v1/filter': { ...ASKED, options: FORMS },
  '/access/v1/search/subject': { ...ASKED, page: PAGES },
  '/access/v1/search/resource': { ...ASKED, page: PAGES },
  '/access/v1/search/action': { ...ASKED, page: PAGES },
}

const SORTS = [
  'id',
  'createdAt',
  'id,ownerId',
  '-id,createdAt',
  'id,id',
  'id,-id',
  '-updatedAt,id,updatedAt',
  'title',
  '',
]

describe('the document and the server', () => {
  let server: TestServer
  let document: Document
  let ajv: Ajv2020

  before(async () => {
    server = await startTestServer({ demo: true })
    document = await wholeDocument(shipped())
    ajv = new Ajv2020({ strict: false, validateSchema: false, formats: { ...fullFormats } })
    ajv.addSchema(document, 'document')
  })
  after(() => server.stop())

  const fits = (schema: object, value: unknown) => {
    const rebased = JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"document#'))
    return ajv.validate(rebased, value)
  }

  for (const [path, members] of Object.entries(BODIES)) {
    it(`refuse the same bodies of ${path}`, async () => {
      const token = await server.token('shop', 'pdp-client')
      const schema = document.paths[path].post.requestBody.content['application/json'].schema
      const bodies = fc.record(Object.fromEntries(Object.entries(members).map(([name, of]) => [name, mostly(of)])))
      const seen = new Set<boolean>()
      const draw = () =>
        fc.assert(
          fc.asyncProperty(bodies, async (drawn) => {
            const body = JSON.parse(JSON.stringify(drawn))
            const isRefused = (await server.ask('POST', path, { token, body })).status === 400
            expect(fits(schema, body), JSON.stringify(body)).to.equal(!isRefused)
            seen.add(isRefused)
          }),
          { numRuns: runs(120, 30) },
        )
      await drawing(draw, () => expect(seen.size).to.equal(2))
    })
  }

  it('refuse the same orders of a list', async () => {
    const token = await server.token('alice', 'member')
    const { parameters } = document.paths['/api/v1/notes'].get
    const { schema } = parameters.find(({ name }: { name?: string }) => name === 'sort')
    const accepted = SORTS.filter((sort) => fits(schema, sort.split(',')))
    expect(accepted).to.deep.equal(SORTS.slice(0, 4))
    for (const sort of SORTS) {
      const { status } = await server.ask('GET', `/api/v1/notes?sort=${sort}`, { token })
      expect(status, sort).to.equal(accepted.includes(sort) ? 200 : 400)
    }
  })
})

/** Often the value at place 2, which every member takes: bodies that fit are drawn, too. */
function mostly(values: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(values[2]) },
    { weight: 2, arbitrary: fc.constantFrom(...values) },
  )
}
