/** `data check` finds exactly the objects that a PATCH without changes would be refused for, over HTTP. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Document } from '../../src/resources/object.ts'
import type { DataReport } from '../../src/tools/data/check/check-data.ts'
import { drawing, runs } from '../runs.ts'
import { startTestServer } from '../server.ts'
import { data } from './command.ts'

const ROUTES = {
  routes: [
    { path: '/things', methods: ['GET'] },
    { path: '/things/{id}', methods: ['GET', 'PATCH'] },
  ],
}
const TIME = { type: 'string', format: 'date-time', readOnly: true }
const SERVER = { id: { type: 'string', readOnly: true }, createdAt: TIME, updatedAt: TIME }

const randomField = fc.oneof(
  fc.record({ type: fc.constant('string'), maxLength: fc.nat(4) }),
  fc.record({ type: fc.constant('string'), enum: fc.constant(['a', 'b']) }),
  fc.record({ type: fc.constant('string'), enum: fc.constant(['a', 'b']), default: fc.constant('a') }),
  fc.record({ type: fc.constant('integer'), minimum: fc.integer({ min: -2, max: 2 }) }),
  fc.record({ type: fc.constant('array'), items: fc.constant({ type: 'string', maxLength: 1 }), maxItems: fc.nat(2) }),
  fc.constant({ type: ['boolean', 'null'] }),
)
const FIELDS = ['one', 'two', 'three']
const randomSchema = fc.record({
  properties: fc.record(Object.fromEntries(FIELDS.map((name) => [name, randomField])), { requiredKeys: ['one'] }),
  required: fc.subarray(FIELDS),
})
const value = fc.oneof(
  fc.constantFrom('a', 'b', 'ccc', true, null, 1),
  fc.integer({ min: -3, max: 3 }),
  fc.array(fc.constantFrom('a', 'bb', 1), { maxLength: 3 }),
)
const randomDocument = fc.dictionary(fc.constantFrom(...FIELDS, 'four'), value, { maxKeys: 4 })

describe('data check, for random schemas and objects', () => {
  it('finds the objects, and only those, that PATCH refuses as they are', async () => {
    const found = { fit: 0, unfit: 0 }
    const property = fc.asyncProperty(
      randomSchema,
      fc.array(randomDocument, { minLength: 15, maxLength: 15 }),
      async (shape, documents) => {
        const required = shape.required.filter((name) => Object.hasOwn(shape.properties, name))
        const schema = {
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          title: 'Thing',
          type: 'object',
          'x-resource': ROUTES,
          properties: { ...SERVER, ...shape.properties },
          required,
          additionalProperties: false,
        }
        const policy = 'p, admin, things, read|update, any, *, allow\n'
        const server = await startTestServer({
          files: { 'schemas/things.json': JSON.stringify(schema), 'policies/policy.csv': policy },
          uncheckedBecause: 'stored objects do not fit the schema',
        })
        const objects = documents.map((document, n) => ({ id: `t${n}`, document: document as Document }))
        await server.app.seeding.insert('things', objects)
        const token = await server.token('ada', 'admin')
        const headers = { 'content-type': 'application/merge-patch+json' }
        const refused: string[] = []
        for (const { id } of objects) {
          const { status } = await server.ask('PATCH', `/things/${id}`, { token, body: {}, headers })
          expect(status, id).to.be.oneOf([200, 400])
          if (status === 400) refused.push(id)
        }
        // A PATCH that fits may set defaults, so that the object is another one.
        const { stdout, stderr } = await data(['check', '--resource', 'things', '--format', 'json'], {
          folder: server.folder,
          env: { DATA_DIR: `${server.folder}/data` },
        })
        expect(stdout, stderr).to.not.equal('')
        const report = JSON.parse(stdout) as DataReport
        expect(report.resources).to.deep.equal([{ resource: 'things', objects: 15, faulty: refused.length }])
        const named = new Set(report.findings.filter(({ ids }) => ids.length < 10).flatMap(({ ids }) => ids))
        for (const id of named) expect(refused).to.include(id)
        found.unfit += refused.length
        found.fit += objects.length - refused.length
        await server.stop()
      },
    )
    await drawing(
      () => fc.assert(property, { numRuns: runs(8, 2), endOnFailure: true }),
      () => expect(Math.min(found.fit, found.unfit), 'inputs of both kinds').to.be.greaterThan(0),
    )
  })
})
