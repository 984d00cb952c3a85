/** A field is renamed in four steps (add, fill, switch, drop) while clients write: no write is lost or refused. */
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { runMigrations } from '../../src/migrations/run/run-migrations.ts'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import { openDatabase } from '../../src/store/open.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { DATABASES, type SharedDatabase } from '../identity/shared-database.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { migrationOf } from './fixture.ts'

const ORDERS = new URL('../../schemas/orders.json', import.meta.url)
const CLIENTS = 3
const FIRST = { customerId: 'ann', currency: 'EUR', items: [{ sku: 'a', quantity: 1, unitPrice: 5 }] }

const NOTE = '"note": { "type": "string", "maxLength": 2000 },'
const REMARK = NOTE.replace('note', 'remark')
const FILL = 'resources: { orders: [copy: { from: note, to: remark }] }'
const DROP = 'resources: { orders: [drop: [note]] }'

for (const [engine, create] of Object.entries(DATABASES)) {
  describe(`a rename without downtime, on ${engine}`, () => {
    let shared: SharedDatabase
    let data: string
    let server: TestServer
    before(async () => {
      shared = await create()
      data = await mkdtemp(join(tmpdir(), 'sallyport-rename-'))
    })
    after(async () => {
      await server.stop()
      await shared.remove()
      await removeFolder(data)
    })

    /** Starts a server with this schema beside the one that runs, and then ends that one. */
    async function deploy(fields: string, files: Readonly<Record<string, string>> = {}): Promise<void> {
      const before = server
      const next = await startTestServer({
        env: { DATABASE_URL: shared.url, DATA_DIR: data },
        files: { ...files, 'schemas/orders.json': await schemaWith(fields) },
        uncheckedBecause: 'the schema of orders changes',
      })
      server = next
      if (!before) return
      while ((asked.get(before) ?? 0) > 0) await sleep(5)
      await before.stop()
    }

    async function schemaWith(fields: string): Promise<string> {
      return (await readFile(ORDERS, 'utf8')).replace(NOTE, fields)
    }

    async function migrate(fields: string, texts: readonly string[]): Promise<void> {
      const resources = parseResources([{ name: 'orders.json', text: await schemaWith(fields) }])
      const now = () => new Date()
      const { store, migrations } = await openDatabase(shared.database, { resources, now })
      const files = texts.map((text, at) => migrationOf(`000${at + 1}-x`, text))
      const result = await runMigrations({ store: migrations, resources, files, now, hidesIds: () => false, atOnce: 5 })
      await store.close()
      expect(result.kind).to.equal('ended')
    }

    /** What the clients write; each goes on with the server of the moment. */
    let write: (text: string) => object = (text) => ({ note: text })
    const written = new Map<string, string>()
    const refused: string[] = []
    let stopped = false

    /** Requests under way, by the server that they go to. */
    const asked = new Map<TestServer, number>()

    /** As a load balancer does: a server that ends gets no new request. */
    async function ask(...[method, path, options]: Parameters<TestServer['ask']>): ReturnType<TestServer['ask']> {
      const to = server
      asked.set(to, (asked.get(to) ?? 0) + 1)
      try {
        return await to.ask(method, path, options)
      } finally {
        asked.set(to, (asked.get(to) ?? 0) - 1)
      }
    }

    async function client(token: string): Promise<void> {
      for (let n = 1; !stopped; n += 1) {
        const made = await ask('POST', '/api/orders', { token, body: { ...FIRST, ...write(`first ${n}`) } })
        note(made, `first ${n}`)
        const changed = await ask('PATCH', `/api/orders/${made.body.id}`, { token, body: write(`then ${n}`) })
        note(changed, `then ${n}`)
      }
    }

    function note({ status, text, body }: Awaited<ReturnType<TestServer['ask']>>, value: string): void {
      if (status >= 300) refused.push(`${status} ${text}`)
      else written.set(body.id, value)
    }

    async function untilWritten(more: number): Promise<void> {
      const enough = written.size + more
      while (written.size < enough && refused.length === 0) await sleep(5)
    }

    it('loses no write and refuses none', async () => {
      await deploy(NOTE)
      const token = await server.token('ann', 'member')
      const clients = Promise.all(Array.from({ length: CLIENTS }, () => client(token)))
      clients.catch((error: unknown) => refused.push(String(error)))
      await untilWritten(10)
      await deploy(NOTE + REMARK)
      write = (text) => ({ note: text, remark: text })
      await untilWritten(10)
      await migrate(NOTE + REMARK, [FILL])
      await untilWritten(10)
      write = (text) => ({ remark: text })
      await untilWritten(10)
      await migrate(REMARK, [FILL, DROP])
      await untilWritten(10)
      await deploy(REMARK, { 'migrations/0001-x.yaml': FILL, 'migrations/0002-x.yaml': DROP })
      await untilWritten(10)
      stopped = true
      await clients
      expect(refused).to.deep.equal([])
      expect(written.size).to.be.at.least(50)
      for (const [id, value] of written) {
        const document = (await server.app.store.get('orders', id))?.document
        expect(document?.remark, id).to.equal(value)
        expect(document).not.to.have.property('note')
      }
    })
  })
}
