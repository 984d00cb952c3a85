/** The list of layouts by version is that of the engines, and says the truth about the data of release 0.1.0. */
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { LAYOUT as POSTGRES_LAYOUT } from '../../src/store/postgres/layout/migrate.ts'
import { LAYOUTS } from '../../src/store/sql/tables.ts'
import { LAYOUT as SQLITE_LAYOUT } from '../../src/store/sqlite/layout/migrate.ts'
import { layoutOfFile } from '../../src/store/sqlite/reader/file-beside.ts'
import { compareData, compareVersions, parseVersion } from '../../src/tools/project/upgrade/versions.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer } from '../server.ts'

describe('the list of layouts', () => {
  let folder: string
  let data: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-layouts-'))
    data = join(folder, 'sallyport.db')
    const packed = await readFile(join(import.meta.dirname, '../release-0.1.0/sallyport.db.gz'))
    await writeFile(data, gunzipSync(packed))
  })
  after(() => removeFolder(folder))

  const compare = (old: string, location: string, engine: 'sqlite' | 'postgres' = 'sqlite') =>
    compareData({
      project: { folder, schemas: '', policies: '', matrices: '', migrations: '', database: { engine, location } },
      old: { root: '', version: old },
      new: { root: '', version: '99.0.0' },
      at: '',
      bounds: { milliseconds: 1, bytes: 1 },
    })

  it('ends with what the engines write: who changes a layout adds an entry', () => {
    expect(LAYOUTS.at(-1)?.layouts).to.deep.equal({ sqlite: SQLITE_LAYOUT, postgres: POSTGRES_LAYOUT })
  })

  it('goes up, in versions and in layouts', () => {
    for (const [i, { version, layouts }] of LAYOUTS.entries()) {
      const earlier = LAYOUTS[i - 1]
      const [was, is] = [parseVersion(earlier?.version ?? '0.0.0'), parseVersion(version)]
      expect(was && is && compareVersions(was, is), version).to.be.lessThan(0)
      for (const [engine, layout] of Object.entries(earlier?.layouts ?? {})) {
        expect(layouts[engine], engine).to.be.at.least(layout)
      }
    }
  })

  it('tells the layout of a file without opening it as a database', async () => {
    expect(await layoutOfFile(data)).to.equal(2)
    expect(await layoutOfFile(join(folder, 'missing'))).to.equal(undefined)
    await writeFile(join(folder, 'text'), 'x'.repeat(200))
    expect(await layoutOfFile(join(folder, 'text'))).to.equal(undefined)
  })

  it('reads the layout beside a server, whose writes are in the log, and makes no file', async () => {
    const server = await startTestServer()
    try {
      const inside = join(server.folder, 'data')
      const live = join(inside, 'sallyport.db')
      // A server begins the tree of its log a second after its start.
      const files = async () => (await readdir(inside)).filter((name) => !name.endsWith('.tree')).sort()
      const before = await files()
      expect((await readFile(`${live}-wal`)).length, 'a log').to.be.greaterThan(0)
      expect((await readFile(live)).readUInt32BE(60), 'the header alone').to.not.equal(SQLITE_LAYOUT)
      expect(await layoutInAnotherProcess(live)).to.equal(String(SQLITE_LAYOUT))
      expect(await files()).to.deep.equal(before)
      expect((await server.ask('GET', '/orders', {})).status).to.be.lessThan(500)
      // The log without its index, as in a copy.
      for (const end of ['', '-wal']) await copyFile(`${live}${end}`, join(folder, `copy.db${end}`))
    } finally {
      await server.stop()
    }
    const { data: changes, undecided } = await compare('0.1.0', join(folder, 'copy.db'))
    expect([changes.length, undecided.map(({ part }) => part)]).to.deep.equal([0, ['data']])
    expect(await readdir(folder)).to.not.include('copy.db-shm')
  })

  it('says that data of 0.1.0 changes, and that 0.1.0 refuses it from then on', async () => {
    const change = { engine: 'sqlite', old: 2, new: SQLITE_LAYOUT, canGoBack: false }
    expect(await compare('0.1.0', data)).to.deep.equal({
      data: [{ ...change, file: { path: data, layout: 2 } }],
      undecided: [],
    })
    expect((await compare('0.1.9', join(folder, 'missing'))).data).to.deep.equal([change])
    const same = { engine: 'sqlite', old: SQLITE_LAYOUT, new: SQLITE_LAYOUT, canGoBack: true }
    expect((await compare('98.0.0', join(folder, 'missing'))).data).to.deep.equal([same])
  })

  it('knows that 0.1.0 had no PostgreSQL, and nothing of a version before the first', async () => {
    const { data: changes } = await compare('0.1.0', 'postgres://nowhere/x', 'postgres')
    expect(changes).to.deep.equal([{ engine: 'postgres', old: null, new: POSTGRES_LAYOUT, canGoBack: false }])
    expect((await compare('0.0.9', data)).undecided.map(({ part }) => part)).to.deep.equal(['data'])
  })
})

async function layoutInAnotherProcess(file: string): Promise<string> {
  const module = new URL('../../src/store/sqlite/reader/file-beside.ts', import.meta.url).href
  const program = `process.stdout.write(String(await (await import('${module}')).layoutOfFile(process.argv[1])))`
  return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, file])).stdout
}
