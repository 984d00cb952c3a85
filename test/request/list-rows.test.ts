/** A row of a list is, byte for byte, what GET gives of that object: also what fields a schema has no longer, or never had. */
import { expect } from 'chai'
import fc from 'fast-check'
import { v7 } from 'uuid'
import type { Document } from '../../src/resources/object.ts'
import type { Json } from '../../src/resources/resource.ts'
import type { TestServer } from '../server.ts'
import { startWithThings } from './things.ts'

const OBJECTS = 120

/** `gone` is in no schema. */
const SECRET = 'of a field that was dropped'

const TEXTS = ['"', '\\', '\\"', '"gone":1', ',"gone":"', '}', ']}', '\u2028', '\ud83d\ude00', 'é', '\n', '\u0000', '']
const text = fc.array(fc.constantFrom(...TEXTS), { maxLength: 6 }).map((parts) => parts.join(''))
const number = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, 1e21, 5e-324, 2 ** 53))
const { value } = fc.letrec<{ value: Json; list: Json[]; object: Record<string, Json> }>((tie) => ({
  value: fc.oneof(text, number, fc.boolean(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(fc.constantFrom('gone', 'title', 'id', 'x'), tie('value'), { maxKeys: 3 }),
}))
const field = fc.tuple(fc.constantFrom('doc', 'title', 'size', 'gone', 'gon', 'goner', 'toString'), value)
const document = fc
  .uniqueArray(field, { selector: ([name]) => name, maxLength: 6 })
  .map((members) => Object.fromEntries(members.map(([name, held]) => [name, name === 'gone' ? SECRET : held])))

/** Members see `doc` of what is titled so, and nothing of it elsewhere. */
const TITLES = ['', '\\', 'é']

const FILES = {
  'policies/policy.csv': `p, everyone, *, options, any, *, allow
p, admin, things, list|read, any, *, allow
p, member, things, list|read, any, plain, allow
p, member, things, list|read, titled, *, allow
p, support, things, list|read, any, *, allow
p, support, things, list|read, titled, document, deny
`,
  'policies/views.yaml': `things:
  plain: [id, title]
  document: [doc, updatedAt]
users:
  public: [id]
accounts:
  balance: [balance]
`,
  'policies/ownership.yaml': `things:\n  relations:\n    titled: { field: title, in: ${JSON.stringify(TITLES)} }\n`,
  'policies/roles.yaml': ['admin', 'member', 'support'].map((role) => `${role}: { description: A role. }\n`).join(''),
}

describe('a row of a list', () => {
  let server: TestServer

  before(async () => {
    server = await startWithThings([], { files: FILES, uncheckedBecause: 'objects are stored that no schema allows' })
    const documents: readonly Document[] = fc.sample(document, { numRuns: OBJECTS, seed: 11 })
    const titled = TITLES.map((title) => ({ gone: SECRET, title, doc: { gone: 1 } }))
    await server.app.seeding.insert(
      'things',
      [...documents, ...titled].map((one) => ({ id: v7(), document: one })),
    )
  })
  after(() => server.stop())

  for (const [role, shown] of [
    ['admin', 'the same fields in every row'],
    ['member', 'more fields in some rows'],
    ['support', 'fewer fields in some rows'],
  ] as const) {
    it(`is what GET gives of the object, to a caller who sees ${shown}`, async () => {
      const token = await server.token('ann', role)
      const { text: list } = await server.ask('GET', '/things?limit=200', { token })
      const ids: readonly string[] = JSON.parse(list).items.map(({ id }: { id: string }) => id)
      expect(ids).to.have.length(OBJECTS + TITLES.length)
      const items = await Promise.all(ids.map((id) => server.ask('GET', `/things/${id}`, { token })))
      expect(list).to.equal(`{"items":[${items.map((item) => item.text).join()}],"next":null}`)
      expect(list).not.to.contain(SECRET)
      const kinds = new Set(items.map(({ body }) => Object.hasOwn(body, 'updatedAt')))
      expect(kinds.size).to.equal(role === 'admin' ? 1 : 2)
    })
  }
})
