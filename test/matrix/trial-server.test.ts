/** The throw-away server of a run in one process: on its own, without rate limits, gone afterwards. */
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type TestOptions, testMatrices } from '../../src/tools/matrix/run/trials.ts'
import { startTrialServer } from '../../src/tools/matrix/target/trial-target.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer } from '../server.ts'
import { HERE } from './told.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const LIMITS = join(ROOT, 'policies/limits.yaml')
const FOLDERS = { policies: join(ROOT, 'policies'), schemas: join(ROOT, 'schemas') }

describe('a run in one process', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-run-'))
  })
  afterEach(() => removeFolder(folder))

  it('leaves no folder, whatever becomes of it', async () => {
    const usual = process.env.TMPDIR
    // Other runs on this machine have folders of their own elsewhere.
    process.env.TMPDIR = folder
    try {
      await run('method,path,object,member\nGET,/api/orders,none,200\n')
      const failed = await startTrialServer({ ...FOLDERS, schemas: '/nonexistent' }).catch(() => 'failed')
      expect(failed).to.equal('failed')
    } finally {
      if (usual === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = usual
    }
    expect(await readdir(folder)).to.deep.equal(['m.csv'])
  })

  it('has no rate limits: a matrix may ask as often as it wants', async () => {
    const server = await startTrialServer(FOLDERS)
    const { headers } = await fetch(`${server.url}/api/orders`)
    await server.stop()
    expect([...headers.keys()].filter((name) => name.startsWith('ratelimit'))).to.deep.equal([])
    const limited = await startTestServer({ files: { 'policies/limits.yaml': await readFile(LIMITS, 'utf8') } })
    const answer = await fetch(`${limited.url}/api/orders`)
    await limited.stop()
    expect(answer.headers.has('ratelimit')).to.equal(true)
  })

  it('gives each cell about a record of user:alice one of its own, or none', async () => {
    const text =
      'method,path,object,user:alice\nGET|DELETE|PATCH,/api/users/{id},own,403\nGET,/profile,own,403\nGET,/profile/{id},own,200 public\nDELETE,/api/tokens/current,missing,404\n'
    const { results } = await run(text)
    expect(results.map(({ outcome, why }) => why ?? outcome)).to.deep.equal(Array(6).fill('passed'))
  })

  it('ends at the first red cell when asked to, and what is left is told apart', async () => {
    const rows = Array.from({ length: 30 }, () => 'GET,/api/orders,none,404').join('\n')
    const { results } = await run(`method,path,object,member\n${rows}\n`, { bail: true, parallel: 1 })
    expect(results.map(({ outcome }) => outcome)).to.deep.equal(['failed', ...Array(29).fill('left-out')])
  })

  it('keeps the cells that are asked for, in the order of the file', async () => {
    const text =
      'method,path,object,member,support+auditor,auditor\nGET,/api/orders,none,200,200,200\nDELETE,/api/v1/notes/{id},missing,404,403,403\n'
    const titles = async (filter: Partial<TestOptions['filter']>) =>
      (await run(text, { filter: { roles: [], resources: [], ...filter } })).results.map(({ title }) => title)
    expect(await titles({ roles: ['auditor'], resources: ['notes'] })).to.deep.equal([
      'DELETE /api/v1/notes/{id} (missing) as auditor+support is 403',
      'DELETE /api/v1/notes/{id} (missing) as auditor is 403',
    ])
    expect(await titles({ only: /^GET .* as member/ })).to.deep.equal(['GET /api/orders (none) as member is 200'])
  })

  async function run(text: string, options: Partial<TestOptions> = {}) {
    const file = join(folder, 'm.csv')
    await writeFile(file, text)
    return testMatrices([file], {
      ...HERE,
      ...FOLDERS,
      ...options,
    })
  }
})
