/** `.env` of a project counts for every command, as for the server, and for no other program's folder. */

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { addEnvFile } from '../../src/config/start/env-file.ts'
import { makeProject } from '../../src/tools/project/make-project.ts'
import { sallyport } from '../command.ts'
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
    sallyport(words.split(' '), { cwd: folder, env: { HOME: workshop.folder, ...env } })
  /** The client of PostgreSQL reads the environment of the process. */
  const start = (words: string, env: NodeJS.ProcessEnv = {}, folder = at('')): Promise<Ran> =>
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
    await write(
      'DATA_DIR="of file"',
      'PORT=3977',
      `KEYS_SECRET='${SECRET}'`,
      'OF_OTHERS=1',
      'ADMIN_PORT=0',
      'OIDC_AUDIENCE=api',
    )
    await mkdir(at('of file'), { recursive: true })
    const { stdout, stderr } = await run('doctor', { PORT: '0' })
    expect(stdout)
      .to.include('`.env` sets ADMIN_PORT, DATA_DIR, KEYS_SECRET, OIDC_AUDIENCE\n')
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

  it('sends no password of the user to a database that the file names', async () => {
    const heard: string[] = []
    const evil = createServer((socket) => {
      socket.on('error', () => undefined)
      // AuthenticationCleartextPassword
      socket.once('data', () => socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])))
      socket.on('data', (bytes) => heard.push(bytes.toString('latin1')))
    })
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve))
    const { port } = evil.address() as AddressInfo
    const url = `postgres://app@127.0.0.1:${port}/app`
    const secret = 'word-of-the-user'
    await writeFile(join(workshop.folder, '.pgpass'), `*:*:*:*:${secret}\n`, { mode: 0o600 })
    try {
      await write(`DATABASE_URL=${url}`)
      for (const words of ['doctor', 'policy status --policies database:', 'user list']) {
        await run(words, { PGPASSWORD: secret, PORT: '0', ADMIN_PORT: '0' })
        await run(words, { PORT: '0', ADMIN_PORT: '0' })
      }
      expect(heard.length).to.be.greaterThan(0)
      expect(heard.join()).to.not.include(secret)
      // The negative control: the user's own words count for the user's own choice.
      await start('user list', { PGPASSWORD: secret, DATABASE_URL: url })
      expect(heard.join()).to.include(secret)
    } finally {
      evil.close()
      await rm(join(workshop.folder, '.pgpass'))
    }
  })

  it('tells no program what to run', async () => {
    const names = ['NODE_OPTIONS', 'LD_PRELOAD', 'GIT_CONFIG_COUNT', 'PATH', 'npm_config_registry', 'PGPASSWORD']
    await write(...names.map((name) => `${name}=of-file`), 'PORT=1')
    const environment = {}
    addEnvFile(environment, at(''))
    expect(environment).to.deep.equal({ PGPASSWORD: 'of-file', PORT: '1' })

    await write('DATABASE_URL=postgres://evil.example/app', 'PGUSER=of-file', 'PGPASSFILE=.env', 'PGSSLKEY=.env')
    const own = { PGPASSWORD: 'own', PGUSER: 'own', PGPASSFILE: 'own', PGSSLCERT: 'own', PGSERVICE: 'own' }
    const named = { ...own }
    addEnvFile(named, at(''))
    expect(named).to.deep.equal({
      DATABASE_URL: 'postgres://evil.example/app',
      PGUSER: 'of-file',
      PGPASSFILE: '/dev/null/none',
    })
    await write('DATABASE_URL=postgres://evil.example/app', 'PGHOST=evil.example', 'PGPORT=1', 'PGSERVICE=evil')
    const users = { ...own, DATABASE_URL: 'postgres:///own' }
    const kept = { ...users }
    addEnvFile(kept, at(''))
    expect(kept).to.deep.equal(users)

    const git = (...words: readonly string[]) => execFileSync('git', words, { cwd: at('') })
    git('init', '-q')
    git('add', '-A')
    git('-c', 'user.name=t', '-c', 'user.email=t@example.com', 'commit', '-qm', 'all')
    const trace = join(workshop.folder, 'trace')
    await write(`GIT_TRACE=${trace}`)
    const { code, stderr } = await run('policy diff HEAD policies')
    expect(code, stderr).to.equal(0)
    expect(existsSync(trace)).to.equal(false)
    await run('policy diff HEAD policies', { GIT_TRACE: trace })
    expect(existsSync(trace), 'git is asked').to.equal(true)
  })

  it('stops a command in one sentence if it can not be read, but neither help nor doctor', async () => {
    await rm(at('.env'), { force: true })
    await symlink('.env', at('.env'))
    const fault = ".env can't be read (too many symbolic links encountered); make it a file that can be read"
    const { code, stderr } = await run('policy check')
    expect([code, stderr]).to.deep.equal([2, `sallyport: ${fault}\n`])
    for (const words of ['help', 'help policy', 'policy check --help']) expect((await run(words)).code).to.equal(0)
    const doctor = await run('doctor', { PORT: '0', ADMIN_PORT: '0' })
    expect(doctor.code, doctor.stderr).to.equal(1)
    expect(doctor.stdout).to.include(`${fault}\n`)
    await rm(at('.env'))
    await writeFile(at('.env'), '#'.repeat(1024 * 1024 + 1))
    expect((await run('policy check')).stderr).to.equal('sallyport: .env is larger than 1 MiB; make it smaller\n')
    await rm(at('.env'))
  })
})
