/** `sallyport data export`: exactly what the caller's own GETs show over HTTP, and never a part that looks whole. */
import { execFile } from 'node:child_process'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import fc from 'fast-check'
import { fillExample, signIn } from '../../examples/projects/fill.ts'
import { soak } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { data } from './command.ts'
import { ENGINES, type OnEngine } from './each-engine.ts'

type Objects = Readonly<Record<string, readonly unknown[]>>

const OWNERS = ['alice', 'bob', 'sam', 'nobody']
const randomNote = fc.record({
  ownerId: fc.constantFrom(...OWNERS),
  title: fc.string({ minLength: 1, maxLength: 20 }).filter((text) => text.isWellFormed() && !text.includes('\0')),
})
const randomOrder = fc.record({
  customerId: fc.constantFrom(...OWNERS),
  status: fc.constantFrom('draft', 'placed', 'shipped', 'cancelled'),
  currency: fc.constantFrom('EUR', 'USD'),
  items: fc.constant([{ sku: 'A-1', quantity: 1, unitPrice: 5 }]),
})

/** What GETs show: all pages of the list, and each of its objects. */
async function shownTo(server: TestServer, token: string, paths: Readonly<Record<string, string>>): Promise<Objects> {
  const shown: Record<string, unknown[]> = {}
  for (const [resource, path] of Object.entries(paths)) {
    shown[resource] = []
    for (const item of await listed(server, token, path)) {
      const one = await server.ask('GET', `${path}/${item.id}`, { token })
      shown[resource].push({ ...item, ...(one.status === 200 ? one.body : {}) })
    }
  }
  return shown
}

async function listed(server: TestServer, token: string, path: string): Promise<readonly { readonly id: string }[]> {
  const items: { readonly id: string }[] = []
  for (let query = '?limit=7'; ; ) {
    const { status, body } = await server.ask('GET', path + query, { token })
    if (status === 403) return []
    items.push(...body.items)
    if (body.next === null) return items
    query = `?limit=7&cursor=${encodeURIComponent(body.next)}`
  }
}

/** By resource, sorted by id. */
function exportedIn(ndjson: string): Objects {
  const rows = ndjson
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  expect(rows.at(-1)).to.deep.equal({ end: { objects: rows.length - 1 } })
  const groups = Object.groupBy(rows.slice(0, -1), ({ resource }) => resource)
  return Object.fromEntries(
    Object.entries(groups).map(([name, some]) => [name, some?.map(({ object }) => object) ?? []]),
  )
}

function sorted(objects: Objects): Objects {
  const entries = Object.entries(objects).filter(([, some]) => some.length > 0)
  const byId = (one: unknown, other: unknown) => JSON.stringify(one).localeCompare(JSON.stringify(other))
  return Object.fromEntries(entries.map(([name, some]) => [name, some.toSorted(byId)]))
}

for (const [name, open] of soak(ENGINES.slice(1), ENGINES.slice(0, 1))) {
  describe(`data export on ${name}`, () => {
    let on: OnEngine
    before(async () => {
      on = await open({ demo: true })
    })
    after(() => on.stop())

    const PATHS = {
      notes: '/api/v1/notes',
      orders: '/api/orders',
      accounts: '/api/accounts',
      users: '/api/users',
    }

    it("holds exactly what the caller's own GETs show, for random objects and every kind of caller", async () => {
      const insert = async (resource: string, documents: readonly object[]) => {
        const objects = documents.map((document) => ({ id: crypto.randomUUID(), document: { ...document } }))
        await on.server.app.seeding.insert(resource, objects)
      }
      await insert('notes', fc.sample(randomNote, 40))
      await insert('orders', fc.sample(randomOrder, 40))
      const callers = { alice: 'member', bob: 'member', sam: 'support', audrey: 'auditor', ada: 'admin' }
      for (const [subject, role] of Object.entries(callers)) {
        const { code, stdout, stderr } = await data(
          ['export', '--as', subject, '--role', role, '--database', on.url],
          on.server,
        )
        expect(code, stderr).to.equal(0)
        const shown = await shownTo(on.server, await on.server.token(subject, role), PATHS)
        expect(sorted(exportedIn(stdout)), subject).to.deep.equal(sorted(shown))
        expect(Object.values(shown).flat().length, subject).to.be.greaterThan(0)
        // Another caller's export would be noticed.
        const other = await shownTo(on.server, await on.server.token('nobody', 'member'), PATHS)
        expect(sorted(exportedIn(stdout)), subject).not.to.deep.equal(sorted(other))
      }
    })

    it('has each text as it is stored, also one that is a password in a setting', async () => {
      const title = 'app:hunter22hunter22@db'
      await on.server.app.seeding.insert('notes', [{ id: crypto.randomUUID(), document: { ownerId: 'carl', title } }])
      const env = { REDIS_URL: `redis://${title}` }
      const asked = ['export', '--as', 'carl', '--role', 'member', '--resource', 'notes', '--database', on.url]
      const { stdout } = await data(asked, { folder: on.server.folder, env })
      expect(exportedIn(stdout).notes).to.have.length(1)
      expect(stdout).to.include(title)
    })

    it('leaves a decision record for each request, in the log of the server', async () => {
      const before = (await on.server.decisions()).length
      await data(['export', '--as', 'alice', '--resource', 'notes', '--database', on.url], on.server)
      const records = (await on.server.decisions()).slice(before).filter(({ method }) => method !== 'COMMAND')
      expect(records.filter(({ instance }) => instance === 'data-export').length).to.equal(records.length)
      expect(records[0]).to.include({ subject: 'alice', route: '/api/v1/notes', action: 'list', outcome: 'allowed' })
      // The rules grant her the same for both actions.
      expect(records.some(({ action }) => action === 'read')).to.equal(false)
    })

    it('has the fields that only a read shows', async () => {
      const policy = `${on.server.folder}/policies/policy.csv`
      const shipped = await readFile(policy, 'utf8')
      const line = 'p, member, notes,    list|read|create|replace|update|delete, owner,              *,        allow'
      expect(shipped).to.include(line)
      const views = `${on.server.folder}/policies/views.yaml`
      const shippedViews = await readFile(views, 'utf8')
      const folder = `${on.server.folder}/policies-reads`
      await cp(`${on.server.folder}/policies`, folder, { recursive: true })
      const rules = [line.replace('list|', ''), 'p, member, notes, list, owner, headline, allow'].join('\n')
      await writeFile(`${folder}/policy.csv`, shipped.replace(line, rules))
      await writeFile(
        `${folder}/views.yaml`,
        `${shippedViews.replace(/^notes:\n/m, '')}\nnotes:\n  headline: [id, title]\n`,
      )
      const args = ['export', '--as', 'alice', '--resource', 'notes', '--database', on.url, '--policies', folder]
      const { stdout, stderr } = await data(args, on.server)
      const { notes = [] } = exportedIn(stdout)
      expect(notes, stderr).to.not.have.length(0)
      for (const one of notes) expect(one).to.include.keys('id', 'title', 'ownerId', 'createdAt')
    })

    it('exits 1 when the list of a named resource is refused, and refuses bad input with exit code 2', async () => {
      const run = (...args: readonly string[]) => data(['export', '--database', on.url, ...args], on.server)
      const refused = await run('--as', 'alice', '--resource', 'users')
      expect(refused.code).to.equal(1)
      expect(refused.stderr).to.include('users: nothing, 403 forbidden')
      expect(refused.stdout).to.equal('{"end":{"objects":0}}\n')
      const faulty: readonly (readonly [readonly string[], RegExp])[] = [
        [[], /required option '--as <subject>' not specified/],
        [['--as', 'nobody'], /there is no users record of `nobody`/],
        [['--as', 'x', '--role', 'mem'], /roles.yaml declares no role `mem`/],
        [['--as', 'user:x', '--role', 'member'], /--as is no id of a user/],
        [['--as', 'alice', '--resource', 'x'], /no schema declares the resource `x`/],
        [['--as', 'alice', '--output', 'schemas'], /the file schemas exists/],
        [['--as', 'alice', '--database', 'postgres://u:sesame@127.0.0.1/x'], /^(?!.*sesame).*has a password/],
        [['--as', 'alice', '--database', 'sqlite:none.db'], /there is no database `none.db`/],
        [['--as', 'alice', '--schemas', 'nowhere'], /the directory of schemas cannot be read/],
      ]
      for (const [args, message] of faulty) {
        const { code, stdout, stderr } = await run(...args)
        expect([code, stdout]).to.deep.equal([2, ''])
        expect(stderr).to.match(message)
      }
    })

    it('asks nothing for a user who is disabled', async () => {
      await on.server.app.directory.disable('bob')
      const { code, stderr } = await data(['export', '--as', 'bob', '--database', on.url], on.server)
      expect(code).to.equal(2)
      expect(stderr).to.include("`bob` can't ask anything (user disabled)")
      await on.server.app.directory.enable('bob')
    })

    it('gives its file a name only when it is whole, and says on a full disk that it is a part', async () => {
      const { folder } = on.server
      const args = ['export', '--as', 'audrey', '--role', 'auditor', '--database', on.url]
      expect((await data([...args, '--output', 'all.ndjson'], on.server)).code).to.equal(0)
      expect((await readdir(folder)).filter((one) => one.includes('ndjson'))).to.deep.equal(['all.ndjson'])
      await writeFile(`${folder}/other.ndjson.part`, 'a part')
      const taken = await data([...args, '--output', 'other.ndjson'], on.server)
      expect(taken.code).to.equal(2)
      expect(taken.stderr).to.include('is there, from an export that was stopped')
      const launcher = new URL('../../bin/sallyport.js', import.meta.url).pathname
      const full = await promisify(execFile)(
        'bash',
        ['-c', `${process.execPath} ${launcher} data ${args.join(' ')} > /dev/full`],
        {
          cwd: folder,
        },
      ).catch((error) => error)
      expect(full.code).to.equal(2)
      expect(full.stderr).to.include("the output can't be written (no space left on device)")
    })

    it('says of a damaged object that it can not be read, and leaves no whole file', async () => {
      const token = await on.server.token('alice', 'member')
      const { body } = await on.server.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })
      await on.run(`update objects_notes set document = '[]' where id = '${body.id}'`)
      const args = ['export', '--as', 'audrey', '--role', 'auditor', '--resource', 'notes', '--database', on.url]
      const { code, stderr } = await data([...args, '--output', 'damaged.ndjson'], on.server)
      expect(code).to.equal(2)
      expect(stderr).to.match(/can't be read: 500 internal-error .*what was written is only a part/)
      expect((await readdir(on.server.folder)).filter((one) => one.startsWith('damaged'))).to.deep.equal([
        'damaged.ndjson.part',
      ])
      await on.run(`delete from objects_notes where id = '${body.id}'`)
    })
  })
}

describe('data export of the example of projects', () => {
  it("holds exactly what each person's GETs show, by tenants, teams and members", async () => {
    const pathOf = (name: string) => new URL(`../../examples/projects/${name}`, import.meta.url).pathname
    const env = { POLICIES: pathOf('policies'), SCHEMAS: pathOf('schemas') }
    const server = await startTestServer({ demo: true, env })
    await fillExample(server.url)
    const { resources } = server.app
    const paths = Object.fromEntries(
      [...resources.byName.values()].flatMap(({ name, builtIn, routes }) => {
        const list = routes.find(({ kind, view, redirect }) => kind === 'collection' && !view && !redirect)
        return builtIn || !list ? [] : [[name, list.path]]
      }),
    )
    const database = `sqlite:${server.folder}/data/sallyport.db`
    const shown: number[] = []
    for (const subject of ['alice', 'bob', 'sam', 'audrey', 'ada']) {
      const { code, stdout, stderr } = await data(['export', '--as', subject, '--database', database], {
        folder: server.folder,
        env,
      })
      expect(code, stderr).to.equal(0)
      const own = await shownTo(server, await signIn(server.url, subject), paths)
      expect(sorted(exportedIn(stdout)), subject).to.deep.equal(sorted(own))
      shown.push(Object.values(own).flat().length)
    }
    expect(new Set(shown).size).to.be.greaterThan(2)
    await server.stop()
  })
})
