import { expect } from 'chai'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { withUniqueValues } from '../../src/tools/matrix/fixture/samples.ts'
import { testMatrices } from '../../src/tools/matrix/run/trials.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { suiteOfFiles } from './predict/suites.ts'
import { HERE } from './told.ts'

/** Fields with a value that may stand in `examples`. */
const FIELDS: Readonly<Record<string, readonly [schema: object, example: string]>> = {
  mail: [{ format: 'email' }, 'ada@example.com'],
  work: [{ pattern: '^[a-z.]+@acme\\.com$' }, 'ada.l@acme.com'],
  code: [{ pattern: '^[A-Z]{3}-[0-9]{2}$' }, 'ABC-01'],
  order: [{ pattern: '^ORD-[0-9]{4}$' }, 'ORD-0001'],
  slug: [{ pattern: '^post-[a-z]{4}$' }, 'post-abcd'],
  day: [{ format: 'date' }, '2026-01-01'],
  at: [{ format: 'date-time' }, '2026-01-01T00:00:00.000Z'],
  address: [{ format: 'ipv4' }, '192.0.2.1'],
  page: [{ format: 'uri', pattern: '^https://example\\.com/' }, 'https://example.com/ada'],
  key: [{ format: 'uuid' }, '01980000-0000-7000-8000-000000000001'],
}

const WANTED = 200

describe('the values of unique fields', () => {
  for (const [name, [schema, example]] of Object.entries(FIELDS)) {
    it(`are new each time: ${example} of ${JSON.stringify(schema)}`, () => {
      const resource = withFields({ [name]: { type: 'string', ...schema, examples: [example], 'x-unique': true } })
      const made = Array.from({ length: WANTED }, () => withUniqueValues(resource, { [name]: example }, new Set()))
      expect(new Set(made.map((object) => object[name]))).to.have.length(WANTED)
      expect(made.flatMap((object) => resource.validate(object))).to.deep.equal([])
    })
  }

  it('stay the same where the schema accepts no other value, and where a relation compares them', () => {
    const resource = withFields({ only: { type: 'string', enum: ['this'], 'x-unique': true } })
    expect(withUniqueValues(resource, { only: 'this' }, new Set())).to.deep.equal({ only: 'this' })
    const free = withFields({ code: { type: 'string', maxLength: 40, 'x-unique': true } })
    expect(withUniqueValues(free, { code: 'a' }, new Set(['code']))).to.deep.equal({ code: 'a' })
    expect(withUniqueValues(free, { code: 'a' }, new Set())).to.not.deep.equal({ code: 'a' })
  })
})

describe('cells about a unique field of few values', () => {
  for (const [kind, schema] of Object.entries({
    'a number': { type: 'integer', minimum: 1, maximum: 3, examples: [2] },
    'one of a list': { type: 'string', enum: ['red', 'blue'] },
    'yes or no': { type: 'boolean', examples: [true] },
  })) {
    it(`are as expected, although other cells have taken the values: ${kind}`, async () => {
      const files = {
        'roles.yaml': 'clerk: { description: c }\nagent: { description: a }\n',
        'policy.csv': 'p, clerk, things, create|delete, any, *, allow\np, agent, things, create|read, any, *, allow\n',
      }
      const cells = `method,path,object,clerk,agent,everyone
POST,/things,none,201,201,403
GET,/things/{id},other,403,200,403
DELETE,/things/{id},other,204,403,403
`
      const text = schemaText({ slot: { ...schema, 'x-unique': true } }, ['slot'])
      const things = [{ name: 'schemas/things.json', text }]
      const { folder, paths, matrix } = await suiteOfFiles(files, { 'things.csv': cells }, things)
      const { results } = await testMatrices([matrix], { ...HERE, ...paths })
      expect(results.flatMap(({ title, why }) => (why === undefined ? [] : [`${title}: ${why}`]))).to.deep.equal([])
      expect(results).to.have.length(9)
      await removeFolder(folder)
    })
  }
})

function withFields(properties: object): Resource {
  const text = schemaText(properties)
  const resource = parseResources([{ name: 'schemas/things.json', text }]).byName.get('things')
  if (!resource) throw new Error('no resource')
  return resource
}

function schemaText(properties: object, required: readonly string[] = []): string {
  const time = { type: 'string', format: 'date-time', readOnly: true }
  return JSON.stringify({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Thing',
    type: 'object',
    'x-resource': {
      routes: [
        { path: '/things', methods: ['GET', 'POST'] },
        { path: '/things/{id}', methods: ['GET', 'DELETE'] },
      ],
    },
    properties: { id: { type: 'string', readOnly: true }, createdAt: time, updatedAt: time, ...properties },
    required,
    additionalProperties: false,
  })
}
