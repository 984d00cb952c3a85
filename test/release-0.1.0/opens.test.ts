/** Data, keys and policy of release 0.1.0 (made by its own code, make.ts) are opened by this one, and nothing is lost. */
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer, type TestServer } from '../server.ts'

const HERE = import.meta.dirname
const known = JSON.parse(await readFile(join(HERE, 'known.json'), 'utf8'))
const madeAt = Date.parse(known.madeAt)

describe('what release 0.1.0 has left', () => {
  let folder: string
  let server: TestServer

  /** The time of the fixture goes on, so that its sessions and keys are never too old. */
  const now = () => new Date(Math.max(madeAt + 60_000, madeAt + 60_000 + (Date.now() - startedAt)))
  const startedAt = Date.now()

  async function prepare(): Promise<string> {
    const place = await mkdtemp(join(tmpdir(), 'sallyport-release-'))
    for (const name of ['policies', 'schemas']) await cp(join(HERE, name), join(place, name), { recursive: true })
    await mkdir(join(place, 'data'))
    await cp(join(HERE, 'keys'), join(place, 'data/keys'), { recursive: true })
    await chmod(join(place, 'data/keys'), 0o700)
    for (const name of await readdir(join(place, 'data/keys'))) await chmod(join(place, 'data/keys', name), 0o600)
    await writeFile(join(place, 'data/sallyport.db'), gunzipSync(await readFile(join(HERE, 'sallyport.db.gz'))))
    return place
  }

  const start = (place: string) =>
    startTestServer({
      now,
      env: {
        DATA_DIR: join(place, 'data'),
        POLICIES: join(place, 'policies'),
        SCHEMAS: join(place, 'schemas'),
      },
    })

  before(async () => {
    folder = await prepare()
    server = await start(folder)
  })
  after(async () => {
    await server.stop()
    await removeFolder(folder)
  })

  it('are records that waited for the log: they are written to it once', async () => {
    while ((await server.app.outbox.waiting(1)).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
    const lines = (await readFile(join(folder, 'data/decisions.log'), 'utf8')).trim().split('\n')
    const records = lines.map((line) => JSON.parse(line)).filter(({ objectId }) => objectId === known.waiting.id)
    expect(records.map(({ status, method }) => `${method} ${status}`)).to.deep.equal(['POST 201'])
  })

  it('are tokens of the key that signs, and of the key before it', async () => {
    for (const token of [known.oldToken, known.newToken]) {
      expect((await server.ask('GET', `/api/v1/notes/${known.note.id}`, { token })).status).to.equal(200)
    }
    const forged = `${known.oldToken.slice(0, -3)}abc`
    expect((await server.ask('GET', `/api/v1/notes/${known.note.id}`, { token: forged })).status).to.equal(401)
  })

  it('are accounts: their passwords, their sessions, and who is disabled', async () => {
    const signIn = (body: object) => server.ask('POST', '/api/tokens', { body })
    for (const id of ['ada', 'bob']) {
      const { status } = await signIn({ email: `${id}@example.com`, password: known.password })
      expect(status, id).to.equal(200)
    }
    expect((await signIn({ email: 'bob@example.com', password: 'another password' })).status).to.equal(401)
    expect((await signIn({ email: 'gone@example.com', password: known.password })).status).to.equal(401)
    expect((await signIn({ refresh_token: known.refreshToken })).status, 'the session').to.equal(200)
  })

  it('are API keys', async () => {
    expect((await server.ask('GET', '/api/orders', { token: known.apiKey })).status).to.equal(200)
  })

  it('are objects, which are read with the same tag, written and listed', async () => {
    const [token, path] = [known.oldToken, `/api/v1/notes/${known.note.id}`]
    const read = await server.ask('GET', path, { token })
    expect(read.body).to.deep.equal(known.note)
    expect(read.headers.get('etag')).to.equal(known.etag)
    const order = await server.ask('GET', `/api/orders/${known.order.id}`, { token: known.newToken })
    expect(order.body).to.deep.equal(known.order)
    const headers = { 'if-match': known.etag, 'content-type': 'application/merge-patch+json' }
    const written = await server.ask('PATCH', path, { token, headers, body: { body: 'changed again' } })
    expect([written.status, written.body.body]).to.deep.equal([200, 'changed again'])
    const listed = await server.ask('GET', '/api/v1/notes?sort=createdAt', { token })
    expect(listed.body.items.map(({ id }: { id: string }) => id)).to.deep.equal([known.note.id, known.waiting.id])
    const created = await server.ask('POST', '/api/v1/notes', { token, body: { title: 'A new note' } })
    expect(created.status).to.equal(201)
  })

  it('are idempotency keys', async () => {
    const headers = { 'idempotency-key': 'release-0.1.0' }
    const body = { title: 'An old note', tags: ['ä', '\u{1f600}'] }
    const again = await server.ask('POST', '/api/v1/notes', { token: known.oldToken, headers, body })
    expect([again.status, again.body.id]).to.deep.equal([201, known.note.id])
  })

  it('is refused by a program of an earlier layout, as this one refuses a later layout', async () => {
    const place = await prepare()
    const database = new DatabaseSync(join(place, 'data/sallyport.db'))
    const old = Number(database.prepare('pragma user_version').get()?.user_version)
    const current = new DatabaseSync(join(folder, 'data/sallyport.db'), { readOnly: true })
    const today = Number(current.prepare('pragma user_version').get()?.user_version)
    current.close()
    // 0.1.0 refuses each number above its own, with the same sentence.
    expect([old, today]).to.deep.equal([2, 3])
    database.exec(`pragma user_version = ${today + 1}`)
    database.close()
    const before = await readFile(join(place, 'data/sallyport.db'))
    const failure = await start(place).catch((error: Error) => error)
    expect(failure).to.be.instanceOf(Error)
    expect((failure as Error).message).to.match(new RegExp(`has layout ${today + 1}, .* use a later version`))
    expect(await readFile(join(place, 'data/sallyport.db')), 'nothing is changed').to.deep.equal(before)
    await removeFolder(place)
  })
})
