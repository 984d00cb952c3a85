/** `.env` of a project counts for every command, as for the server, and for no other program's folder. */
import { randomBytes } from 'node:crypto'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeProject } from '../../src/tools/project/make-project.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { openWorkshop, type Ran, ranIn, type Workshop } from './projects.ts'

const BIN = new URL('../../bin/sallyport.js', import.meta.url).pathname
const SECRET = randomBytes(32).toString('base64')

describe('the .env of a project', () => {
  let workshop: Workshop
  before(async () => {
    workshop = await openWorkshop()
    await makeProject(join(workshop.folder, 'api'), { name: 'api', demo: false, tenants: false })
  })
  after(() => workshop.remove())

  const at = (name: string) => join(workshop.folder, 'api', name)
  const write = (...lines: readonly string[]) => writeFile(at('.env'), `${lines.join('\n')}\n`)
  const run = (words: string, env: NodeJS.ProcessEnv = {}, folder = at('')): Promise<Ran> =>
    ranIn(folder, { PATH: process.env.PATH, HOME: workshop.folder, ...env }, [
      process.execPath,
      BIN,
      ...words.split(' '),
    ])

  it('names the folders of a command, unless the environment does', async () => {
    await write('POLICIES=of-file')
    expect((await run('policy check')).stderr).to.include('of-file is not a directory')
    expect((await run('policy check', { POLICIES: 'of-environment' })).stderr).to.include('of-environment is not a dir')
    expect((await run('policy check', { POLICIES: '' })).code).to.equal(0)
    expect((await run('policy check policies')).code).to.equal(0)
  })

  it('names the database of doctor, which tells where settings come from, and no secret', async () => {
    await write('DATA_DIR="of file"', 'PORT=3977', `KEYS_SECRET='${SECRET}'`, 'OF_OTHERS=1', 'ADMIN_PORT=0')
    await mkdir(at('of file'), { recursive: true })
    const { stdout, stderr } = await run('doctor', { PORT: '0' })
    expect(stdout)
      .to.include('`.env` sets ADMIN_PORT, DATA_DIR, KEYS_SECRET\n')
      .and.include('the environment has other values than `.env` for PORT\n')
      .and.include('of file/sallyport.db')
      .and.not.include('OF_OTHERS')
    expect(stdout + stderr + (await run('doctor --format json')).stdout).to.not.include(SECRET)
  })

  it('is not read by what judges a commit, nor outside of a project, nor if it is a folder', async () => {
    await write('POLICIES=of-file')
    expect((await run('ci github --no-comment')).stdout).to.not.include('of-file')
    await writeFile(join(workshop.folder, '.env'), 'SCHEMAS=of-file')
    await writeFile(join(workshop.folder, 'package.json'), '{ "dependencies": { "koa": "3.0.0" } }')
    const outside = await run('schema check api/schemas', {}, workshop.folder)
    expect([outside.code, outside.stderr]).to.deep.equal([0, ''])
    expect((await run('policy check', {}, workshop.folder)).stderr).to.not.include('of-file')
    await rm(at('.env'))
    await mkdir(at('.env'))
    expect((await run('policy check')).code).to.equal(0)
    await removeFolder(at('.env'))
  })

  it('stops a command in one sentence if it can not be read', async () => {
    await rm(at('.env'), { force: true })
    await symlink('.env', at('.env'))
    const { code, stderr } = await run('policy check')
    expect([code, stderr]).to.deep.equal([
      2,
      "sallyport: .env can't be read (ELOOP); let this user read it: run `chmod u+r .env`\n",
    ])
    await rm(at('.env'))
    await writeFile(at('.env'), '#'.repeat(1024 * 1024 + 1))
    expect((await run('policy check')).stderr).to.equal('sallyport: .env is larger than 1 MiB; make it smaller\n')
    await rm(at('.env'))
  })
})
