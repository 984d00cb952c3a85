/** Backups beside writing clients: each has what was acknowledged before it began, whole, and its server works. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { withDatabase } from '../../bench/fixture/environment.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { soak } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { ENGINES } from './places.ts'
import { faultsOf, type Note, startWriters, type Writers } from './writers.ts'

const LAUNCHER = new URL('../../bin/sallyport.js', import.meta.url).pathname
const CLIENTS = soak(32, 8)
const BACKUPS = soak(2, 1)

for (const engine of ENGINES.filter(({ name }) => name === 'sqlite')) {
  describe(`backups beside ${CLIENTS} writing clients on ${engine.name}`, () => {
    let folder: string
    let server: TestServer
    let writers: Writers
    let url: string

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'sallyport-under-writes-'))
      url = await engine.empty(folder)
      server = await startTestServer({
        env: { DATABASE_URL: url },
        demo: true,
        uncheckedBecause: 'there are too many answers',
      })
    })
    after(async () => {
      await server.stop()
      await removeFolder(folder)
    })
    beforeEach(async () => {
      writers = await startWriters(server, CLIENTS)
    })

    const environment = (root: string, databaseUrl: string) => ({
      DATA_DIR: join(root, 'data'),
      POLICIES: join(root, 'policies'),
      SCHEMAS: join(root, 'schemas'),
      ...withDatabase(databaseUrl),
    })

    /** Resolves with standard output. */
    function sallyport(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
      return new Promise((resolve, reject) => {
        const options = { env: { PATH: process.env.PATH, ...env }, maxBuffer: 64 * 1024 * 1024 }
        execFile(process.execPath, [LAUNCHER, ...args], options, (error, stdout, stderr) => {
          if (error) reject(new Error(`${args.join(' ')}: ${stdout}${stderr}`))
          else resolve(stdout)
        })
      })
    }

    /** A server on what was restored of the archive. */
    async function restoredServer(archive: string) {
      const root = await mkdtemp(join(folder, 'restored-'))
      await sallyport(['restore', archive, root], {})
      const env = environment(root, `sqlite:${join(root, 'data/sallyport.db')}`)
      const restored = await startTestServer({ env, demo: true, uncheckedBecause: 'there are too many answers' })
      return { root, env, restored }
    }

    it('have each write that was acknowledged before, none is half there, and a server works on each', async () => {
      for (let n = 0; n < BACKUPS; n += 1) {
        await until(() => writers.acknowledged().size > 20 * n)
        const before = writers.acknowledged()
        expect(before.size).to.be.greaterThan(0)
        await sallyport(['backup', join(folder, `${n}.tar`)], environment(server.folder, url))
        const after = writers.acknowledged()
        await sallyport(['backup', 'verify', join(folder, `${n}.tar`)], {})
        const { env, restored } = await restoredServer(join(folder, `${n}.tar`))
        try {
          const notes = await notesOf(restored)
          expect(faultsOf(notes, before, after)).to.deep.equal([])
          expect(await sallyport(['data', 'check'], env)).to.match(/ objects checked, nothing found/)
          expect(
            faultsOf(notes.slice(1), new Map([[notes[0]?.id ?? '', 'created']]), new Map()),
            'a lost note',
          ).to.have.length(1)
        } finally {
          await restored.stop()
        }
      }
      await writers.stop()
    })

    it('make a server that passes its matrix, and whose sign-ins and new writes work', async () => {
      await until(() => writers.acknowledged().size > 0)
      await sallyport(['backup', join(folder, 'matrix.tar')], environment(server.folder, url))
      await writers.stop()
      const { root, env, restored } = await restoredServer(join(folder, 'matrix.tar'))
      try {
        const token = await server.token('ada', 'admin')
        expect((await restored.ask('GET', '/api/v1/notes?limit=1', { token })).status, 'a token of before').to.equal(
          200,
        )
        const matrix = ['matrix', 'test', 'test/matrix/notes.csv', '--url', restored.url, '--data', join(root, 'data')]
        const { POLICIES, SCHEMAS, KEYS_SECRET } = env
        expect(await sallyport(matrix, { POLICIES, SCHEMAS, KEYS_SECRET })).to.match(/All \d+ cells are as expected/)
        const log = await readFile(join(root, 'data/decisions.log'), 'utf8')
        const writes = log
          .trim()
          .split('\n')
          .flatMap((line) => JSON.parse(line).write ?? [])
        expect(writes.at(-1), 'numbers of the restored server').to.be.greaterThan(1_000_000_000)
      } finally {
        await restored.stop()
      }
    })

    if (engine.name === 'sqlite') {
      it('a file that is copied without SQLite would lose writes', async () => {
        const file = url.slice('sqlite:'.length)
        // As long as somebody reads an old state, SQLite keeps newer writes beside the file.
        using reader = new DatabaseSync(file, { readOnly: true })
        reader.exec('begin')
        reader.prepare('select count(*) from outbox').get()
        const known = writers.acknowledged().size
        // The first note of each client goes again, and may go before the copy is made.
        await until(() => writers.acknowledged().size > known + 3 * CLIENTS)
        const before = writers.acknowledged()
        const root = await mkdtemp(join(folder, 'copied-'))
        await cp(file, join(root, 'sallyport.db'))
        const after = writers.acknowledged()
        await writers.stop()
        const env = { ...environment(server.folder, `sqlite:${join(root, 'sallyport.db')}`), DATA_DIR: root }
        const outcome = await startTestServer({ env, demo: true, uncheckedBecause: 'there are too many answers' }).then(
          async (copied) => {
            const faults = await notesOf(copied).then((notes) => faultsOf(notes, before, after), String)
            await copied.stop()
            return faults
          },
          String,
        )
        expect(outcome).to.have.length.greaterThan(0)
      })
    }
  })
}

async function notesOf(server: TestServer): Promise<readonly Note[]> {
  const token = await server.token('ada', 'admin')
  const notes: Note[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const { status, body } = await server.ask('GET', `/api/v1/notes?limit=200${cursor}`, { token })
    if (status !== 200) throw new Error(`${status}: ${body.code}`)
    notes.push(...body.items.filter(({ title }: Note) => /^c\d+-\d+-/.test(title)))
    cursor = body.next === null ? undefined : `&cursor=${body.next}`
  }
  return notes
}
