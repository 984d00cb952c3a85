/** Schemas that never change are compiled once, not at every start. Run with UPDATE=1 to compile them anew. */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect } from 'chai'
import { compiledSchemas } from './compiled-schemas.ts'

describe('the compiled schemas', () => {
  for (const { file, code } of compiledSchemas()) {
    it(`are what Ajv makes of the schemas now: ${basename(file.pathname)}`, () => {
      if (process.env.UPDATE) writeFileSync(file, code)
      const same = readFileSync(file, 'utf8') === code
      expect(same, `${file.pathname} is out of date: UPDATE=1 npx mocha test/compiled-schemas.test.ts`).to.equal(true)
    })
  }
})
