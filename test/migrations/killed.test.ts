/** kill -9 at any moment of a migration: whole batches stay, no server starts, and the next run goes on. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { openDatabase, openReader } from '../../src/store/open.ts'
import { data } from '../data/command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { DATABASES, type SharedDatabase } from '../identity/shared-database.ts'
import { soak, times } from '../runs.ts'
import { startTestServer } from '../server.ts'
import { failure } from '../store/fixture.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const MIGRATOR = new URL('migrator.ts', import.meta.url).pathname
const ORDERS = 300
const KILLS = soak(times(2), 1)

for (const [engine, create] of Object.entries(DATABASES)) {
  describe(`a migration that is killed, on ${engine}`, () => {
    let shared: SharedDatabase
    let folder: string
    before(async () => {
      shared = await create()
      folder = await mkdtemp(join(tmpdir(), 'sallyport-killed-'))
      await cp(join(ROOT, 'schemas'), join(folder, 'schemas'), { recursive: true })
      await cp(join(ROOT, 'policies'), join(folder, 'policies'), { recursive: true })
      await mkdir(join(folder, 'migrations'))
      await writeFile(
        join(folder, 'migrations/0001-remark.yaml'),
        `resources:
  orders:
    - rename: { from: note, to: remark }
    # Not the same when it is done twice.
    - map: { field: currency, values: [{ from: EUR, to: USD }, { from: USD, to: EUR }] }
    - delete: { where: { remark: [gone] } }\n`,
      )
      const { seeding, store } = await shared.open()
      await seeding.insert(
        'orders',
        Array.from({ length: ORDERS }, (_, n) => ({ id: idOf(n), document: orderOf(n) })),
      )
      await store.close()
      const file = join(folder, 'schemas/orders.json')
      await writeFile(file, (await readFile(file, 'utf8')).replace('"note":', '"remark":'))
    })
    after(async () => {
      await shared.remove()
      await removeFolder(folder)
    })

    it('keeps whole batches, is refused by servers, and ends as if nobody had killed it', async () => {
      let killed = 0
      while (killed < KILLS) {
        const before = (await progress()).objects
        const child = migrate()
        const closed = once(child, 'close')
        // At another point of a batch each time.
        while ((await progress()).objects < before + 15 * (killed + 1) && child.exitCode === null) await sleep(killed)
        child.kill('SIGKILL')
        await closed
        killed += 1
        await expectWholeBatches()
        if (killed === 1) await expectRefused()
      }
      const end = await data(['migrate', '--no-backup'], { folder, env: { DATABASE_URL: shared.url } })
      expect(end.code, end.stderr).to.equal(0)
      const orders = await stored()
      expect(orders.map(({ id }) => id)).to.deep.equal(left().map(idOf))
      for (const [at, { version, document }] of orders.entries()) {
        const { note, ...rest } = orderOf(left()[at] ?? 0)
        expect({ version, document }).to.deep.equal({
          version: 2,
          document: { ...rest, remark: note, currency: 'USD' },
        })
      }
      // Each object is in one record, once.
      expect(await recorded()).to.deep.equal({
        changed: left().map(idOf),
        deleted: Array.from({ length: ORDERS }, (_, n) => n)
          .filter(isGone)
          .map(idOf),
      })
      const status = await data(['migrate', '--status'], { folder, env: { DATABASE_URL: shared.url } })
      expect(status.stdout).to.match(new RegExp(`^0001-remark {2}ran .*, ${ORDERS} objects\\n`))
    })

    function migrate(): ChildProcess {
      const child = spawn(process.execPath, [MIGRATOR, shared.url, join(folder, 'schemas'), join(folder, 'migrations')])
      child.stderr?.pipe(process.stderr)
      return child
    }

    async function progress() {
      let reader = await opened()
      // A busy server may not answer in time, while it undoes what a killed process left.
      while (!reader) reader = await opened()
      const { stored: migrations } = await reader.migrationState()
      await reader.close()
      return migrations[0] ?? { objects: 0, place: undefined, endedAt: undefined }
    }

    async function opened() {
      return openReader(shared.database).catch((error) => {
        if (error instanceof StoreUnavailable) return undefined
        throw error
      })
    }

    async function stored() {
      const { byName } = await loadResources(join(folder, 'schemas'))
      const reader = await openReader(shared.database)
      const found = await reader.objects(byName.get('orders') ?? expect.fail(), undefined, ORDERS + 1)
      await reader.close()
      return found
    }

    /** The objects up to the place, and no others, are changed; the records are of the same objects. */
    async function expectWholeBatches(): Promise<void> {
      const { objects, place } = await progress()
      const last = place?.id ?? ''
      const orders = await stored()
      for (const { id, version, document } of orders) {
        const isDone = id <= last
        expect([version, Object.hasOwn(document, 'remark')], id).to.deep.equal([isDone ? 2 : 1, isDone])
      }
      const { changed, deleted } = await recorded()
      expect(changed).to.deep.equal(orders.filter(({ version }) => version === 2).map(({ id }) => id))
      expect(changed.length + deleted.length).to.equal(objects)
    }

    async function expectRefused(): Promise<void> {
      const env = { DATABASE_URL: shared.url }
      const schema = await readFile(join(folder, 'schemas/orders.json'), 'utf8')
      const migration = await readFile(join(folder, 'migrations/0001-remark.yaml'), 'utf8')
      const files = { 'schemas/orders.json': schema, 'migrations/0001-remark.yaml': migration }
      const error = await failure(startTestServer({ env, files }))
      expect((error as Error).message).to.equal(
        'the migration `0001-remark` has begun and not ended: migrate first, or start with `--migrate`',
      )
    }

    async function recorded() {
      const resources = await loadResources(join(folder, 'schemas'))
      const { outbox, store } = await openDatabase(shared.database, { resources, now: () => new Date() })
      const records = (await outbox.waiting(1000)).flatMap(({ record }) => JSON.parse(record).migrated ?? [])
      await store.close()
      const all = (kind: 'changed' | 'deleted') => records.flatMap((one) => one[kind]).toSorted()
      const deleted: readonly string[] = all('deleted')
      return { changed: (all('changed') as string[]).filter((id) => !deleted.includes(id)), deleted }
    }
  })
}

function idOf(n: number): string {
  return `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`
}

function isGone(n: number): boolean {
  return n % 50 === 9
}

function left(): readonly number[] {
  return Array.from({ length: ORDERS }, (_, n) => n).filter((n) => !isGone(n))
}

function orderOf(n: number) {
  const items = [{ sku: `sku-${n}`, quantity: 1, unitPrice: 100 }]
  return { customerId: `u${n % 7}`, status: 'placed', currency: 'EUR', items, note: isGone(n) ? 'gone' : `note ${n}` }
}
