/** Histories: what each write has left of an object, through the gate and the views of today. */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { sallyport } from '../command.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { REMEMBERING } from './remembering-world.ts'

for (const [engine, startOn] of ENGINES) {
  describe(`histories, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    const tokens: Record<string, string> = {}

    before(async () => {
      on = await startOn({ files: REMEMBERING })
      server = on.server
      tokens.ada = await server.token('ada', 'admin')
      for (const [name, role] of [
        ['alice', 'member'],
        ['bob', 'member'],
        ['sue', 'support'],
        ['otto', 'auditor'],
      ] as const) {
        await server.app.seeding.insert('users', [
          { id: name, document: { email: `${name}@example.com`, roles: [role] } },
        ])
        tokens[name] = await server.token(name, role)
      }
    })
    after(() => on.stop())

    const ask = (who: string, method: string, path: string, body?: unknown) =>
      server.ask(method, path, { token: tokens[who], ...(body === undefined ? {} : { body }) })
    const historyOf = (who: string, id: string, query = '') => ask(who, 'GET', `/papers/${id}/history${query}`)

    /** A paper of the owner with one version for each title; each is at another time. */
    async function written(owner: string, ...titles: readonly string[]): Promise<string> {
      const [first, ...others] = titles
      const { body } = await ask('ada', 'POST', '/papers', { ownerId: owner, title: first, secret: `s ${first}` })
      for (const title of others) {
        await sleep(2)
        await ask(owner, 'PATCH', `/papers/${body.id}`, { title })
      }
      return body.id
    }

    it('show each version, the newest first, with who wrote it by which line', async () => {
      const id = await written('alice', 'one', 'two', 'three')
      const { status, body } = await historyOf('ada', id)
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body.next).to.equal(null)
      expect(body.items.map((one: Shown) => [one.version, one.object.title, one.by?.subject])).to.deep.equal([
        [3, 'three', 'alice'],
        [2, 'two', 'alice'],
        [1, 'one', 'ada'],
      ])
      const [newest] = body.items
      const now = (await ask('ada', 'GET', `/papers/${id}`)).body
      expect(newest.object).to.deep.equal(now)
      expect(newest.at).to.equal(now.updatedAt)
      const record = await server.lastDecision({ action: 'update', objectId: id })
      expect(newest.by).to.deep.equal({
        subject: 'alice',
        requestId: record?.requestId,
        action: 'update',
        revision: record?.revision,
        rules: record?.rules,
      })
      expect(await server.lastDecision({ action: 'history', objectId: id })).to.include({
        route: '/papers/{id}/history',
        outcome: 'allowed',
      })
    })

    it('are denied by default: reading an object grants nothing of its past', async () => {
      const id = await written('alice', 'one', 'two')
      expect((await ask('bob', 'GET', `/papers/${id}`)).status).to.equal(200)
      expect((await historyOf('bob', id)).status).to.equal(403)
      const anonymous = await server.ask('GET', `/papers/${id}/history`)
      expect(anonymous.status).to.equal(401)
    })

    it('are decided on the object as it is now: whoever gave it away sees no version any more', async () => {
      const id = await written('alice', 'one')
      expect((await historyOf('alice', id)).status).to.equal(200)
      await ask('ada', 'PATCH', `/papers/${id}`, { ownerId: 'bob' })
      expect((await historyOf('alice', id)).status).to.equal(403)
      expect((await historyOf('alice', id, `?at=${new Date().toISOString()}`)).status).to.equal(403)
    })

    it('hide a field of today in every version, and name a writer only to who may read the record', async () => {
      const id = await written('alice', 'one', 'two')
      const { body } = await historyOf('sue', id)
      expect(body.items).to.have.length(2)
      for (const { object } of body.items) expect(Object.keys(object).sort()).to.deep.equal(['id', 'title'])
      // Support reads the records of users; `ada` has none.
      expect(body.items.map((one: Shown) => one.by?.subject)).to.deep.equal(['alice', undefined])
      const own = (await historyOf('alice', id)).body.items
      expect(own.map((one: Shown) => one.by?.subject)).to.deep.equal(['alice', undefined])
      await ask('ada', 'PATCH', `/papers/${id}`, { title: 'three' })
      await ask('bob', 'PATCH', `/papers/${id}`, { title: 'four' })
      const byAll = (await historyOf('otto', id)).body.items
      expect(byAll.map((one: Shown) => [one.version, one.by?.subject])).to.deep.equal([
        [3, undefined],
        [2, 'alice'],
        [1, undefined],
      ])
    })

    it('tell the version of a time, and 404 for a time before the object or before what is kept', async () => {
      const id = await written('alice', 'one', 'two', 'three')
      const [third, second, first] = (await historyOf('ada', id)).body.items
      const at = async (time: string) => (await historyOf('ada', id, `?at=${encodeURIComponent(time)}`)).body
      expect((await at(second.at)).items).to.deep.equal([second])
      expect((await at(justBefore(third.at))).items).to.deep.equal([second])
      expect((await at(new Date(Date.now() + 60_000).toISOString())).items).to.deep.equal([third])
      expect((await at(first.at.replace('Z', '+00:00'))).items).to.deep.equal([first])
      expect((await at(justBefore(first.at))).code).to.equal('version-not-found')
      for (const wrong of ['yesterday', '2026-01-01', '']) expect((await at(wrong)).code).to.equal('invalid-query')
      expect((await historyOf('ada', id, '?at=2026-01-01T00:00:00Z&limit=2')).body.code).to.equal('invalid-query')
      expect((await historyOf('ada', id, '?can=true')).body.code).to.equal('invalid-query')
    })

    it('come in pages that lose and repeat nothing, whose cursors are of one caller and one object', async () => {
      const titles = ['a', 'b', 'c', 'd', 'e']
      const [id, other] = [await written('alice', ...titles), await written('alice', 'x', 'y', 'z')]
      for (const limit of [1, 2, 3, 5]) {
        const found: string[] = []
        for (let cursor = ''; ; ) {
          const { body } = await historyOf('alice', id, `?limit=${limit}${cursor}`)
          expect(body.items.length).to.be.within(1, limit)
          found.push(...body.items.map((one: Shown) => one.object.title))
          if (body.next === null) break
          cursor = `&cursor=${body.next}`
        }
        expect(found).to.deep.equal(titles.toReversed())
      }
      const { next } = (await historyOf('alice', id, '?limit=1')).body
      expect((await historyOf('ada', id, `?cursor=${next}`)).body.code).to.equal('invalid-query')
      expect((await historyOf('alice', other, `?cursor=${next}`)).body.code).to.equal('invalid-query')
    })

    it('begin with what an object was when its changes began to be kept', async () => {
      const id = await written('alice', 'one', 'two', 'three')
      await on.run('delete from changes where version < 3')
      const { items } = (await historyOf('ada', id)).body
      expect(items.map((one: Shown) => [one.version, one.by?.subject])).to.deep.equal([
        [3, 'alice'],
        [2, undefined],
      ])
      const [{ at }] = items
      // What wasn't logged isn't guessed.
      expect((await historyOf('ada', id, `?at=${justBefore(at)}`)).status).to.equal(200)
      await on.run('delete from changes')
      expect((await historyOf('ada', id, `?at=${justBefore(at)}`)).body.code).to.equal('version-not-found')
      const [now, ...others] = (await historyOf('ada', id)).body.items
      expect(now.version).to.equal(3)
      expect(others).to.deep.equal([])
    })

    it('are of one object: a new one with the id of a deleted one has none of its past', async () => {
      const id = await written('alice', 'one', 'two')
      expect((await ask('ada', 'DELETE', `/papers/${id}`)).status).to.equal(204)
      const time = new Date().toISOString()
      await sleep(2)
      await server.app.seeding.insert('papers', [{ id, document: { ownerId: 'bob', title: 'new' } }])
      const { items } = (await historyOf('ada', id)).body
      expect(items.map((one: Shown) => one.object.title)).to.deep.equal(['new'])
      expect((await historyOf('ada', id, `?at=${time}`)).body.code).to.equal('version-not-found')
    })

    it('are erased by a command, one field or all, with a record', async () => {
      const id = await written('alice', 'one', 'two')
      const ran = async (...more: readonly string[]) => {
        const { code, stderr } = await sallyport(['data', 'erase-history', ...more], { env: on.env })
        expect(code, stderr).to.equal(0)
        return stderr
      }
      const those = ['--resource', 'papers', '--id', id]
      expect(await ran(...those, '--field', 'secret')).to.include('erased `secret` in 2 kept changes of')
      const kept = (await historyOf('ada', id)).body.items
      expect(kept.map(({ object }: Shown) => Object.keys(object).includes('secret'))).to.deep.equal([false, false])
      expect((await ask('ada', 'GET', `/papers/${id}`)).body.secret).to.equal('s one')
      await ran(...those)
      expect((await historyOf('ada', id)).body.items).to.have.length(1)
      const again = await written('alice', 'one', 'two')
      expect(await ran('--writer', 'alice')).to.match(/^erased who wrote in \d+ kept changes?/)
      const names = (await historyOf('ada', again)).body.items.map((one: Shown) => one.by?.subject)
      expect(names).to.deep.equal([undefined, 'ada'])
      expect((await sallyport(['data', 'erase-history', '--id', id], { env: on.env })).code).to.equal(2)
      const refused = await sallyport(['data', 'erase-history', '--resource', 'paper', '--id', id], { env: on.env })
      expect(refused.code).to.equal(2)
      expect(refused.stderr).to.include('paper')
      const records = await server.decisions()
      expect(
        records.filter(({ method, action }) => method === 'COMMAND' && action === 'data erase-history').length,
      ).to.be.at.least(2)
    })

    it('tell `access who --at` what the object was then', async () => {
      const id = await written('alice', 'one')
      const then = new Date().toISOString()
      await sleep(2)
      await ask('ada', 'PATCH', `/papers/${id}`, { ownerId: 'bob' })
      const updaters = async (...more: readonly string[]) => {
        const { stdout, stderr } = await sallyport(
          ['access', 'who', 'PATCH', `/papers/${id}`, '--format', 'json', ...more],
          { env: on.env },
        )
        expect(stdout, stderr).not.to.equal('')
        const { who } = JSON.parse(stdout) as { who: { kind: string; subject: string }[] }
        return who.flatMap(({ kind, subject }) => (kind === 'person' ? [subject] : []))
      }
      expect(await updaters())
        .to.include('bob')
        .and.not.include('alice')
      expect(await updaters('--at', then))
        .to.include('alice')
        .and.not.include('bob')
      await ask('ada', 'DELETE', `/papers/${id}`)
      expect(await updaters('--at', then)).to.include('alice')
      const early = await sallyport(['access', 'who', 'PATCH', `/papers/${id}`, '--at', '2026-01-01'], { env: on.env })
      expect(early.code).to.equal(2)
    })

    it('are an ability of an object, and only where it is granted', async () => {
      const id = await written('alice', 'one')
      const actions = async (who: string) => (await ask(who, 'GET', `/papers/${id}?can=true`)).body.can.actions
      expect(await actions('alice')).to.include('history')
      expect(await actions('bob')).not.to.include('history')
    })
  })
}

describe('docs/history.md', () => {
  it('keeps the history of orders, as the page says it', async () => {
    const page = await readFile(new URL('../../docs/history.md', import.meta.url), 'utf8')
    const lines = [...page.matchAll(/^ {4}(p, .*)$/gm)].map(([, line]) => line)
    const [, keyword] = /^ {4}("x-history": .*),$/m.exec(page) ?? []
    expect([lines.length, keyword]).to.deep.equal([2, '"x-history": { "keep": "2y" }'])
    const shipped = (name: string) => readFile(new URL(`../../${name}`, import.meta.url), 'utf8')
    const server = await startTestServer({
      files: {
        'schemas/orders.json': JSON.stringify({
          ...JSON.parse(await shipped('schemas/orders.json')),
          ...JSON.parse(`{${keyword}}`),
        }),
        'policies/policy.csv': withRules(await shipped('policies/policy.csv'), lines.join('\n')),
      },
    })
    try {
      const token = await server.token('mia', 'member')
      const order = { currency: 'EUR', items: [{ sku: 'A-1', quantity: 1, unitPrice: 100 }] }
      const { body } = await server.ask('POST', '/api/orders', { token, body: order })
      await server.ask('PATCH', `/api/orders/${body.id}`, { token, body: { note: 'by noon' } })
      const history = await server.ask('GET', `/api/orders/${body.id}/history`, { token })
      expect(history.body.items.map((one: Shown) => Object.keys(one))).to.deep.equal(
        Array(2).fill(['version', 'at', 'by', 'object']),
      )
      const other = await server.token('max', 'member')
      expect((await server.ask('GET', `/api/orders/${body.id}/history`, { token: other })).status).to.equal(403)
    } finally {
      await server.stop()
    }
  })
})

interface Shown {
  readonly version: number
  readonly by?: { readonly subject: string }
  readonly object: { readonly title: string }
}

function justBefore(time: string): string {
  return new Date(Date.parse(time) - 1).toISOString()
}
