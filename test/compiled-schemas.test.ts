/** Schemas that never change are compiled once, not at every start. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect } from 'chai'
import { compiledSchemas } from '../scripts/compile-schemas.ts'
import { removeFolder } from './ends-with-tests.ts'

describe('the compiled schemas', () => {
  for (const { file, text } of compiledSchemas()) {
    it(`are what Ajv makes of the schemas now: ${basename(file.pathname)}`, () => {
      const same = readFileSync(file, 'utf8') === text
      expect(same, `${file.pathname} is out of date: npm run compile-schemas`).to.equal(true)
    })
  }

  it('are missed with a word on what to do', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-checkout-'))
    await cp(new URL('../bin', import.meta.url), join(folder, 'bin'), { recursive: true })
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'bin/sallyport.js'), '--version'])
    await removeFolder(folder)
    expect(String(stderr)).to.contain('run `npm run compile-schemas`')
    expect(status).to.equal(1)
  })
})
