/** The shapes of `--format json`, as docs/schemas/ gives them. */
import { readFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { expect } from 'chai'

/** Fails unless the output has the shape. */
export async function holds(name: string, output: string): Promise<void> {
  const schema = JSON.parse(await readFile(new URL(`../docs/schemas/${name}.schema.json`, import.meta.url), 'utf8'))
  const validate = new Ajv2020({ strict: false, formats: fullFormats }).compile(schema)
  expect(validate(JSON.parse(output)), JSON.stringify(validate.errors)).to.equal(true)
}
