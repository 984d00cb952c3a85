/** A restore into PostgreSQL that is killed when the database is whole, and no folder is in its place yet. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { removeFolder } from '../ends-with-tests.ts'
import { DATABASES, type SharedDatabase } from '../identity/shared-database.ts'
import { ENGINES } from './places.ts'

const ROOT = new URL('../..', import.meta.url).pathname
/** The process kills itself where it would rename the first folder. */
const KILLED_BEFORE_FOLDERS = `--import=data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs/promises'
  import { syncBuiltinESMExports } from 'node:module'
  fs.rename = () => process.kill(process.pid, 'SIGKILL')
  syncBuiltinESMExports()
`)}`

describe('a restore that is killed after it wrote the database', () => {
  let folder: string
  let shared: SharedDatabase
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-ended-'))
    shared = (await DATABASES.PostgreSQL?.()) ?? expect.fail()
    const { store } = await shared.open()
    await store.close()
    await run(['backup', 'one.tar'], { DATABASE_URL: shared.url })
  })
  after(async () => {
    await shared.remove()
    await removeFolder(folder)
  })

  function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const settings = {
      POLICIES: join(ROOT, 'policies'),
      SCHEMAS: join(ROOT, 'schemas'),
      DATA_DIR: join(folder, 'data'),
    }
    return new Promise<{ readonly code: unknown; readonly stderr: string }>((resolve) => {
      const options = { cwd: folder, env: { ...process.env, ...settings, ...env } }
      execFile(process.execPath, [join(ROOT, 'bin/sallyport.js'), ...args], options, (error, _, stderr) => {
        resolve({ code: error ? (error.signal ?? error.code) : 0, stderr })
      })
    })
  }

  it('is told by the next one, with what to do; into a database made anew, the same command is whole', async () => {
    const engine = ENGINES.find(({ name }) => name === 'postgres') ?? expect.fail()
    const DATABASE_URL = await engine.empty(folder)
    const restore = (env: Readonly<Record<string, string>>) => run(['restore', 'one.tar', 'into'], env)
    expect((await restore({ DATABASE_URL, NODE_OPTIONS: KILLED_BEFORE_FOLDERS })).code).to.equal('SIGKILL')
    for (let time = 0; time < 2; time++) {
      expect(await restore({ DATABASE_URL })).to.deep.equal({
        code: 2,
        stderr:
          'sallyport: the database has tables already; name an empty one, or, if a restore that was ended has made ' +
          'them, drop the database, create it again and restore again\n',
      })
      expect(await readdir(join(folder, 'into'))).to.deep.equal([])
    }
    expect((await restore({ DATABASE_URL: await engine.empty(folder) })).code).to.equal(0)
    expect((await readdir(join(folder, 'into'))).toSorted()).to.deep.equal(['data', 'policies', 'schemas'])
  })
})
