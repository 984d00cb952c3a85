import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { openPostgresSigningKeys } from '../../src/store/postgres/instances.ts'
import type { SigningKeys } from '../../src/store/signing-keys.ts'
import { startTcpProxy } from '../tcp-proxy.ts'
import { signingKeysContract, type TestKeyDatabase } from './contract-signing-keys.ts'
import { failure } from './fixture.ts'
import { createSchema } from './postgres-schemas.ts'

signingKeysContract('PostgreSQL', create)

async function create(): Promise<TestKeyDatabase> {
  const schema = await createSchema()
  const opened: SigningKeys[] = []
  return {
    open: async () => {
      const keys = await openPostgresSigningKeys(schema.url)
      opened.push(keys)
      return keys
    },
    remove: async () => {
      for (const keys of opened) await keys.close()
      await schema.remove()
    },
  }
}

describe('signing keys on PostgreSQL', () => {
  it('can be opened by several at once in a new database, and one makes the first key', async () => {
    const database = await create()
    const instances = await Promise.all(Array.from({ length: 4 }, () => database.open()))
    const added = await Promise.all(instances.map((keys, i) => keys.add(1, `by ${i}`)))
    expect(added.filter(Boolean)).to.have.length(1)
    await database.remove()
  })

  it('say within a second that a stalled or lost database does not answer, and answer again by themselves', async () => {
    const schema = await createSchema()
    const proxy = await startTcpProxy(Number(new URL(schema.url).port))
    const url = new URL(schema.url)
    url.port = String(proxy.port)
    const keys = await openPostgresSigningKeys(String(url))
    await keys.add(1, 'one')
    for (const lose of [proxy.stall, proxy.cut]) {
      lose()
      if (lose === proxy.cut) proxy.stall()
      const since = performance.now()
      expect(await failure(keys.read())).to.be.instanceOf(StoreUnavailable)
      expect(performance.now() - since).to.be.below(1900)
      proxy.resume()
      const answers = () =>
        keys.read().then(
          () => true,
          () => false,
        )
      for (const end = Date.now() + 5000; Date.now() < end && !(await answers()); ) await sleep(50)
      expect((await keys.read()).keys.map(({ text }) => text)).to.deep.equal(['one'])
    }
    await keys.close()
    await proxy.close()
    await schema.remove()
  })
})
