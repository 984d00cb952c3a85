/** What outsiders need to measure this server: a folder with data, the token and ids to ask with, a server on env PORT. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { startServer } from '../../bench/machine/server.ts'
import { removeNow } from '../ends-with-tests.ts'

const BENCH = new URL('../../bench/', import.meta.url).pathname

describe('bench/prepare.ts and bench/serve.ts', () => {
  let parent: string
  before(() => {
    parent = mkdtempSync(join(tmpdir(), 'bench-serve-'))
  })
  after(() => removeNow(parent))

  function prepare(...args: readonly string[]): Promise<{ readonly stderr: string }> {
    return promisify(execFile)(process.execPath, [join(BENCH, 'prepare.ts'), ...args])
  }

  it('make a server that answers as target.json says', async () => {
    const folder = join(parent, 'ours')
    await prepare(folder, '--rules', '30', '--resources', '6', '--notes', '300')
    const target = JSON.parse(readFileSync(join(folder, 'target.json'), 'utf8'))
    expect(target.ids).to.have.length(3)
    expect(target.expect).to.deep.equal([200, 403, 401, 404, 200, 405])
    const command = [process.execPath, join(BENCH, 'serve.ts'), folder]
    // Refuses a server that answers one of the six cases wrongly.
    const server = await startServer({ name: 'ours', command, target })
    await server.stop()
  })

  it('touch no folder that is there', async () => {
    const refused = await prepare(parent).catch((error) => error)
    expect(refused.code).to.equal(2)
    expect(refused.stderr).to.equal(`error: \`${parent}\` is there already; name a new folder\n`)
  })
})
