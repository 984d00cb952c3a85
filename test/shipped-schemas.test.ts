/** The program doesn't check its own JSON Schemas at every start, because they can't change: these tests do. */
import { globSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { TOKEN_REQUEST } from '../src/resources/built-in/token-request.ts'

const ROOT = new URL('..', import.meta.url).pathname
const META = 'https://json-schema.org/draft/2020-12/schema'

describe('the JSON Schemas that are shipped', () => {
  const validate = new Ajv2020({ allErrors: true, validateFormats: false }).getSchema(META)
  const files = globSync(['src/**/*.schema.json', 'docs/schemas/*.json'], { cwd: ROOT })
  const schemas = [...files.map((file) => [file, JSON.parse(readFileSync(`${ROOT}${file}`, 'utf8'))] as const)]

  for (const [name, schema] of [...schemas, ['a request for a token', TOKEN_REQUEST] as const]) {
    it(`${name} is a valid one`, () => {
      expect(validate?.(schema), JSON.stringify(validate?.errors)).to.equal(true)
    })
  }

  it('are found, and a faulty one would be', () => {
    expect(files.length).to.be.greaterThan(20)
    expect(validate?.({ type: 'text' })).to.equal(false)
  })
})
