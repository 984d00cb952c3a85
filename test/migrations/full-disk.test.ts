/**
 * A migration on a disk that fills, and has room again. A soft limit on the size of files, which any user may set, stands
 * in for the full disk.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { databaseIn, openDatabase, openReader } from '../../src/store/open.ts'
import { data, type Ended } from '../data/command.ts'
import { removeFolder } from '../ends-with-tests.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const LAUNCHER = join(ROOT, 'bin/sallyport.js')
const ORDERS = 6000
/** Large enough that a few batches fill the disk. */
const NOTE = 'n'.repeat(450)

describe('a migration on a disk that fills', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-full-'))
    for (const name of ['schemas', 'policies']) await cp(join(ROOT, name), join(folder, name), { recursive: true })
    for (const name of ['migrations', 'data']) await mkdir(join(folder, name))
    await insert()
    const schema = join(folder, 'schemas/orders.json')
    await writeFile(schema, (await readFile(schema, 'utf8')).replace('"note":', '"remark":'))
    await writeFile(
      join(folder, 'migrations/0001-remark.yaml'),
      // Not the same when it is done twice.
      `resources:
  orders:
    - rename: { from: note, to: remark }
    - map: { field: currency, values: [{ from: EUR, to: USD }, { from: USD, to: EUR }] }\n`,
    )
  })
  afterEach(() => removeFolder(folder))

  it('keeps whole batches, says what to do, and the same command goes on when there is room', async () => {
    const { code, stdout, stderr } = await migrateWithin(await roomFor('some batches'), '--no-backup')
    expect([code, stdout]).to.deep.equal([2, ''])
    expect(stderr).to.match(
      /^sallyport: the database `data\/sallyport.db` can't be used \([^)]+\): fix that, and run the command again, .*\n$/,
    )
    const { objects, place, endedAt } = await progress()
    expect(objects).to.be.within(1, ORDERS - 1)
    expect(endedAt).to.equal(undefined)
    for (const { id, version, document } of await orders()) {
      const isDone = id <= (place?.id ?? '')
      expect([version, document.currency, Object.hasOwn(document, 'remark')], id).to.deep.equal(
        isDone ? [2, 'USD', true] : [1, 'EUR', false],
      )
    }
    const end = await data(['migrate', '--no-backup'], { folder })
    expect(end).to.deep.include({ code: 0, stderr: '' })
    expect(end.stdout).to.include(`${ORDERS - objects} objects changed or deleted; the objects fit the schemas\n`)
    for (const { id, version, document } of await orders()) {
      expect([version, document.currency, document.remark], id).to.deep.equal([2, 'USD', NOTE])
    }
  })

  it('changes nothing, and leaves no half archive, if the backup before it has no room', async () => {
    const before = await orders()
    const { code, stdout, stderr } = await migrateWithin(await roomFor('half the archive'))
    expect([code, stdout]).to.deep.equal([2, ''])
    expect(stderr).to.match(
      /^sallyport: the database data\/sallyport.db can't be copied to .*; check the database and the disk\n$/,
    )
    expect(await orders()).to.deep.equal(before)
    expect(await progress()).to.deep.equal({ objects: 0 })
    expect(await readdir(join(folder, 'data/backups'))).to.deep.equal([])
    expect((await data(['migrate', '--no-backup'], { folder })).code).to.equal(0)
  })

  /** KiB. Batches are written into SQLite's log, which is empty at first; the archive is as large as the database. */
  async function roomFor(what: 'some batches' | 'half the archive'): Promise<number> {
    const { size } = await stat(join(folder, 'data/sallyport.db'))
    return Math.ceil(size / 1024 / (what === 'some batches' ? 3 : 2))
  }

  /** `kib`: no file grows beyond it. */
  function migrateWithin(kib: number, ...args: readonly string[]): Promise<Ended> {
    return new Promise((resolve) => {
      const command = ['-c', `ulimit -S -f ${kib}; exec "$@"`, 'bash', process.execPath, LAUNCHER, 'data', 'migrate']
      execFile('bash', [...command, ...args], { cwd: folder }, (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr })
      })
    })
  }

  async function insert(): Promise<void> {
    const resources = await loadResources(join(folder, 'schemas'))
    const { seeding, store } = await openDatabase(databaseIn(join(folder, 'data')), {
      resources,
      now: () => new Date(),
    })
    const items = [{ sku: 'a', quantity: 1, unitPrice: 5 }]
    const document = { customerId: 'alice', status: 'placed', currency: 'EUR', items, note: NOTE }
    await seeding.insert(
      'orders',
      Array.from({ length: ORDERS }, (_, n) => ({
        id: `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`,
        document,
      })),
    )
    await store.close()
  }

  async function progress() {
    const reader = await openReader(databaseIn(join(folder, 'data')))
    const { stored } = await reader.migrationState()
    await reader.close()
    const { objects = 0, ...state } = stored[0] ?? {}
    return { objects, ...state }
  }

  async function orders() {
    const { byName } = await loadResources(join(folder, 'schemas'))
    const reader = await openReader(databaseIn(join(folder, 'data')))
    const found = await reader.objects(byName.get('orders') ?? expect.fail(), undefined, ORDERS + 1)
    await reader.close()
    expect(found).to.have.length(ORDERS)
    return found
  }
})
