/** New values for unique fields: each is another one that the schema accepts, in the form of the example. */
import { expect } from 'chai'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { withUniqueValues } from '../../src/tools/matrix/fixture/samples.ts'

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

function withFields(properties: object): Resource {
  const time = { type: 'string', format: 'date-time', readOnly: true }
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Thing',
    type: 'object',
    'x-resource': { routes: [{ path: '/things', methods: ['GET'] }] },
    properties: { id: { type: 'string', readOnly: true }, createdAt: time, updatedAt: time, ...properties },
    additionalProperties: false,
  }
  const resource = parseResources([{ name: 'schemas/things.json', text: JSON.stringify(schema) }]).byName.get('things')
  if (!resource) throw new Error('no resource')
  return resource
}
