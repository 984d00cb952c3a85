/** Records that waited in the outbox at the time of a backup are in the log of the restored server once, none is lost. */
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { readConfig } from '../../src/config/config.ts'
import { openDatabaseBeside } from '../../src/store/open.ts'
import { backUp } from '../../src/tools/backup/back-up.ts'
import { restoreArchive } from '../../src/tools/backup/restore.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { soak } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { backUpPostgres, restorePostgres } from './pg-tools.ts'
import { databaseAt, ENGINES } from './places.ts'

for (const engine of soak(ENGINES.slice(1), ENGINES.slice(0, 1))) {
  describe(`records that wait at a backup on ${engine.name}`, () => {
    let folder: string
    let server: TestServer
    let url: string
    let other: string

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'sallyport-outbox-'))
      url = await engine.empty(folder)
      other = await engine.empty(folder)
      server = await startTestServer({ env: { DATABASE_URL: url } })
    })
    afterEach(async () => {
      await server.stop()
      await removeFolder(folder)
    })

    async function create(on: TestServer, title: string): Promise<void> {
      const token = await server.token('bob', 'member')
      expect((await on.ask('POST', '/api/v1/notes', { token, body: { title } })).status).to.equal(201)
    }

    /** An archive of a moment when another process holds the outbox, so the records of three writes wait. */
    async function archive(): Promise<string> {
      await create(server, 'shipped')
      await server.decisions()
      const beside = await openDatabaseBeside(databaseAt(url), { resources: NONE, now: () => new Date() })
      const holder = '00000000-0000-4000-8000-000000000000'
      while (!(await beside.outbox.hold(holder))) await sleep(20)
      const held = setInterval(() => void beside.outbox.hold(holder), 100)
      for (const title of ['a', 'b', 'c']) await create(server, title)
      if (engine.name === 'postgres') {
        await backUpPostgres(server.folder, url)
        clearInterval(held)
        await beside.outbox.release(holder)
        await beside.store.close()
        return server.folder
      }
      const env = { DATABASE_URL: url, DATA_DIR: join(server.folder, 'data') }
      const folders = { policies: join(server.folder, 'policies'), schemas: join(server.folder, 'schemas') }
      const file = join(folder, 'a.tar')
      const { manifest } = await backUp({
        config: readConfig(env, folders),
        file,
        recipients: [],
        program: '0',
        now: new Date(),
      })
      expect(manifest.decisionLog).to.deep.equal({ lastWrite: 4, waiting: 3, firstWaiting: 2 })
      clearInterval(held)
      await beside.outbox.release(holder)
      await beside.store.close()
      return file
    }

    async function restore(file: string, directory: string): Promise<void> {
      if (engine.name === 'sqlite') {
        const restored = await restoreArchive({ archive: { file, identity: undefined }, directory })
        expect(restored).to.have.property('manifest')
        return
      }
      await cp(join(file, 'monday.dump'), join(folder, 'monday.dump'))
      await cp(join(file, 'monday.tar.gz'), join(folder, 'monday.tar.gz'))
      // The number of the last write.
      expect(await restorePostgres(folder, other)).to.match(/ last_value\s.*\n-+\n +4\n/)
      expect(await readdir(directory)).to.have.members(['policies', 'schemas'])
      await mkdir(join(directory, 'data'))
    }

    /** Starts a server on the archive, and gives the numbers of the writes in its log after one more write. */
    async function logOf(file: string, log?: string): Promise<readonly unknown[]> {
      const directory = join(folder, 'restored')
      const at = engine.name === 'sqlite' ? `sqlite:${join(directory, 'data/sallyport.db')}` : other
      await restore(file, directory)
      if (log !== undefined) await copyFile(log, join(directory, 'data/decisions.log'))
      const env = {
        DATABASE_URL: at,
        DATA_DIR: join(directory, 'data'),
        DECISION_LOG_FILE: join(directory, 'data/decisions.log'),
      }
      const restored = await startTestServer({ env })
      try {
        await create(restored, 'later')
        while ((await restored.app.outbox.waiting(1)).length > 0) await sleep(20)
        const lines = (await readFile(join(directory, 'data/decisions.log'), 'utf8')).trim().split('\n')
        return lines.flatMap((line) => JSON.parse(line).write ?? [])
      } finally {
        await restored.stop()
      }
    }

    it('are written to a new log once', async () => {
      expect(await logOf(await archive())).to.deep.equal([2, 3, 4, 1_000_000_001])
    })

    it('are not written again to the old log, which has them and later ones', async () => {
      const file = await archive()
      await create(server, 'lost with the old server')
      expect((await server.decisions()).flatMap(({ write }) => write ?? [])).to.deep.equal([1, 2, 3, 4, 5])
      const log = join(server.folder, 'data/decisions.log')
      expect(await logOf(file, log)).to.deep.equal([1, 2, 3, 4, 5, 1_000_000_001])
    })

    it('that only some of the old log has are completed', async () => {
      const file = await archive()
      await server.decisions()
      const log = join(folder, 'cut.log')
      const lines = (await readFile(join(server.folder, 'data/decisions.log'), 'utf8')).trim().split('\n')
      await writeFile(log, `${lines.filter((line) => Number(JSON.parse(line).write ?? 0) < 3).join('\n')}\n`)
      expect(await logOf(file, log)).to.deep.equal([1, 2, 3, 4, 1_000_000_001])
    })
  })
}

const NONE = { byName: new Map(), routes: [] }
