/** A stored document that isn't a JSON object is a fault of the server, wherever it is read, and the log names the object once. */
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { DEMO_PASSWORD } from '../../src/server/parts/demo.ts'
import { DamagedObject } from '../../src/store/errors.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'

const NOT_JSON = '{"title":'
const DAMAGES = ['[]', 'null', '5', '"text"', NOT_JSON]

describe('a stored document that is damaged', () => {
  let server: TestServer
  let token: string
  let id: string
  let database: DatabaseSync
  beforeEach(async () => {
    server = await startTestServer({ demo: true })
    token = await server.token('alice', 'member')
    id = (await server.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })).body.id
    database = new DatabaseSync(`${server.folder}/data/sallyport.db`)
  })
  afterEach(async () => {
    database.close()
    await server.stop()
  })

  function damage(table: string, row: string, document: string): void {
    if (document === NOT_JSON) dropGenerated(table)
    database.prepare(`update ${table} set document = ? where id = ?`).run(document, row)
  }
  /** A disk can change a text to what no statement may write: a column made from it would refuse it. */
  function dropGenerated(table: string): void {
    const names = (sql: string) =>
      database
        .prepare(sql)
        .all()
        .map(({ name }) => String(name))
    for (const name of names(`select name from pragma_index_list('${table}') where origin = 'c'`)) {
      database.exec(`drop index "${name}"`)
    }
    for (const name of names(`select name from pragma_table_xinfo('${table}') where hidden > 1`)) {
      database.exec(`alter table ${table} drop column "${name}"`)
    }
  }

  const told = (name: string) => server.log.filter((line) => JSON.stringify(line).includes(`\`${name}\``))
  const seen = ({ status, body }: Answer) => [status, body.code]
  const FAULT = [500, 'internal-error']

  for (const document of DAMAGES) {
    it(`${document} is 500 for the item, for writes to it and for lists that it is in`, async () => {
      damage('objects_notes', id, document)
      const path = `/api/v1/notes/${id}`
      const merge = { 'content-type': 'application/merge-patch+json' }
      const admin = await server.token('audrey', 'auditor')
      const answers = [
        await server.ask('GET', path, { token }),
        await server.ask('PUT', path, { token, body: { title: 'u' } }),
        await server.ask('PATCH', path, { token, body: { title: 'u' }, headers: merge }),
        await server.ask('DELETE', path, { token }),
        await server.ask('GET', '/api/v1/notes?sort=-createdAt', { token: admin }),
        await server.ask('GET', '/api/v1/notes?sort=-createdAt', { token: admin }),
      ]
      expect(answers.map(seen)).to.deep.equal(answers.map(() => FAULT))
      expect(told(id)).to.have.length(1)
      database.prepare('update objects_notes set document = ? where id = ?').run('{"title":"fixed"}', id)
      expect((await server.ask('GET', '/api/v1/notes', { token: admin })).status).to.equal(200)
    })

    it(`${document} of a user is 500 for all that the user asks, and for whoever looks the user up`, async () => {
      damage('objects_users', 'alice', document)
      const admin = await server.token('ada', 'admin')
      const answers = [
        await server.ask('GET', '/api/v1/notes', { token }),
        await server.ask('GET', '/profile', { token }),
        await server.ask('GET', '/api/users/alice', { token: admin }),
      ]
      expect(answers.map(seen)).to.deep.equal(answers.map(() => FAULT))
      expect(told('alice')).to.have.length(1)
      const { directory } = server.app
      for (const look of [() => directory.person('alice'), () => directory.people()]) {
        expect(await look().catch((error) => error)).to.be.instanceOf(DamagedObject)
      }
      expect((await server.ask('GET', '/api/v1/notes', { token: admin })).status).to.equal(200)
    })
  }

  it('is not told of what others have', async () => {
    damage('objects_notes', id, '[]')
    const bob = await server.token('bob', 'member')
    expect((await server.ask('GET', '/api/v1/notes', { token: bob })).status).to.equal(200)
    const body = { email: 'alice@example.com', password: DEMO_PASSWORD }
    expect((await server.ask('POST', '/api/tokens', { body })).status).to.equal(200)
  })

  it('is 500 as well where an idempotency key or an API key holds it', async () => {
    const headers = { 'idempotency-key': 'k1' }
    const create = () => server.ask('POST', '/api/v1/notes', { token, body: { title: 'once' }, headers })
    expect((await create()).status).to.equal(201)
    for (const object of ['[]', 'null', '{"id":"x","document":[]}', NOT_JSON]) {
      database.prepare('update replays set object = ?').run(object)
      expect(seen(await create())).to.deep.equal(FAULT)
    }
    const times = { createdAt: Date.now(), expiresAt: Date.now() + 60_000 }
    const { directory } = server.app
    await directory.addKey({ id: 'k1', secretHash: '', subject: 'robot', roles: [], name: '', ...times })
    for (const roles of ['null', '{}', '[1]', '[']) {
      database.prepare('update api_keys set roles = ?').run(roles)
      const found = await Promise.resolve()
        .then(() => directory.keyStatus('k1'))
        .catch((error) => error)
      expect(found).to.be.instanceOf(DamagedObject)
    }
  })
})
