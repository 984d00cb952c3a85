/** What instances share beside the store: published policies and signing keys, on every engine. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { openPolicyVersions, openSigningKeys } from '../../src/store/open.ts'
import { databaseAt } from '../backup/places.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTcpProxy } from '../tcp-proxy.ts'
import { until } from '../until.ts'
import { policyVersionsContract, type TestInstances } from './contract-policy-versions.ts'
import { signingKeysContract } from './contract-signing-keys.ts'
import { failure } from './fixture.ts'
import { createSchema, openPatiently } from './postgres-schemas.ts'

interface Place {
  readonly url: string
  sql(text: string): Promise<void>
  remove(): Promise<void>
}

async function file(): Promise<Place> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sallyport-instances-'))
  const database = path.join(folder, 'data.sqlite')
  return {
    url: `sqlite:${database}`,
    sql: async (text) => {
      const direct = new DatabaseSync(database)
      direct.exec(text)
      direct.close()
    },
    remove: () => removeFolder(folder),
  }
}

async function schema(): Promise<Place> {
  const { url, raw, remove } = await createSchema()
  return { url, sql: async (text) => void (await (await raw()).query(text)), remove }
}

/** Each call of `open` opens the same database once more, as another instance does. */
async function instancesOf<T extends { close(): Promise<void> }>(
  place: () => Promise<Place>,
  openAt: (url: string) => Promise<T | undefined>,
): Promise<TestInstances<T>> {
  const { url, sql, remove } = await place()
  const opened: T[] = []
  return {
    open: async () => {
      const one = await openPatiently(() => openAt(url))
      if (!one) throw new Error('the database keeps nothing for others')
      opened.push(one)
      return one
    },
    sql,
    remove: async () => {
      for (const one of opened) await one.close()
      await remove()
    },
  }
}

for (const [engine, place] of Object.entries({ SQLite: file, PostgreSQL: schema })) {
  policyVersionsContract(engine, () => instancesOf(place, (url) => openPolicyVersions(databaseAt(url))))
  signingKeysContract(engine, () => instancesOf(place, (url) => openSigningKeys(databaseAt(url))))
}

describe('what instances share', () => {
  it('is in no file of a folder that does not exist', async () => {
    const database = databaseAt(`sqlite:${path.join(tmpdir(), 'sallyport-no-such-folder', 'file')}`)
    for (const open of [openPolicyVersions, openSigningKeys])
      expect(await failure(open(database))).to.be.instanceOf(StoreUnavailable)
  })

  it('says within a second that a stalled or lost database does not answer, and answers again by itself', async () => {
    const { url: at, remove } = await createSchema()
    const url = new URL(at)
    const proxy = await startTcpProxy(Number(url.port))
    url.port = String(proxy.port)
    const keys = await openSigningKeys(databaseAt(String(url)))
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
      await until(answers)
      expect((await keys.read()).keys.map(({ text }) => text)).to.deep.equal(['one'])
    }
    await keys.close()
    await proxy.close()
    await remove()
  })
})
