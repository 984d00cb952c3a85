import { mock } from 'node:test'
import { expect } from 'chai'
import { createApiKey, createApiKeyUses, hashOfSecret, WRITE_EVERY_MS } from '../../src/identity/directory/api-key.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { startTestServer } from '../server.ts'

describe('the last use of API keys', () => {
  afterEach(() => mock.timers.reset())

  it('is written once a minute for all keys together, however often they are used', async () => {
    mock.timers.enable({ apis: ['setInterval'] })
    const written: ReadonlyMap<string, number>[] = []
    const uses = createApiKeyUses({ noteKeyUses: async (some) => void written.push(some) }, () => undefined)
    for (let i = 1; i <= 1000; i++) uses.note('a', i)
    uses.note('b', 7)
    expect(written).to.deep.equal([])
    mock.timers.tick(WRITE_EVERY_MS)
    expect(written).to.deep.equal([
      new Map([
        ['a', 1000],
        ['b', 7],
      ]),
    ])
    mock.timers.tick(WRITE_EVERY_MS * 3)
    expect(written).to.have.length(1)
    uses.note('a', 1001)
    await uses.close()
    expect(written[1]).to.deep.equal(new Map([['a', 1001]]))
  })

  it('that could not be written is told, and tried again', async () => {
    const written: ReadonlyMap<string, number>[] = []
    const faults: unknown[] = []
    const full = new Error('the disk is full')
    const noteKeyUses = async (some: ReadonlyMap<string, number>) => {
      if (written.push(some) === 1) throw full
    }
    const uses = createApiKeyUses({ noteKeyUses }, (error) => faults.push(error), 1)
    uses.note('a', 1)
    while (written.length < 2) await new Promise((resolve) => setTimeout(resolve, 2))
    await uses.close()
    expect(faults).to.deep.equal([full])
    expect(written).to.deep.equal([new Map([['a', 1]]), new Map([['a', 1]])])
  })

  it('is in the database when the server has stopped, and no request wrote it', async () => {
    const server = await startTestServer()
    const { id, text, secret } = createApiKey()
    const now = Date.now()
    const key = {
      id,
      secretHash: hashOfSecret(secret),
      subject: 'robot',
      roles: [],
      name: '',
      createdAt: now,
      expiresAt: now + 9000,
    }
    await server.app.directory.addKey(key)
    const lastUsed = async () => (await server.app.directory.keys())[0]?.lastUsedAt
    await server.ask('GET', '/api/v1/notes', { token: text })
    expect(await lastUsed()).to.equal(null)
    await server.app.drain()
    const { resources } = server.app
    const reopened = await openSqlite({ file: `${server.folder}/data/sallyport.db`, resources, now: () => new Date() })
    expect((await reopened.directory.keys())[0]?.lastUsedAt).to.be.within(now, Date.now())
    await reopened.store.close()
    await server.stop()
  })
})
