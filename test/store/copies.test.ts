/** A copy of a database has everything that was durable before it began, on an engine without tools of its own, and a server can use it. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type CopyFacts, NotACopy, OccupiedDatabase } from '../../src/store/copies.ts'
import { copyDatabase, openDatabase, openPolicyVersions, openSigningKeys, placeDatabase } from '../../src/store/open.ts'
import { databaseAt, ENGINES } from '../backup/places.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { ALL } from './engine.ts'
import { change, creation, ODD, type Opened, RESOURCES, removal } from './fixture.ts'

const RECORD = '{"record":"decision"}'

interface Copied {
  readonly bytes: Buffer
  readonly facts: CopyFacts
}

for (const engine of ENGINES.filter(({ name }) => name === 'sqlite')) {
  describe(`a copy of a database on ${engine.name}`, () => {
    let folder: string
    let url: string
    let source: Opened
    const opened: Opened[] = []
    const now = () => new Date()

    async function open(at: string): Promise<Opened> {
      const one = await openDatabase(databaseAt(at), { resources: RESOURCES, now })
      opened.push(one)
      return one
    }

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'sallyport-copies-'))
      url = await engine.empty(folder)
      source = await open(url)
    })
    afterEach(async () => {
      for (const { store } of opened.splice(0)) await store.close()
      await removeFolder(folder)
    })

    async function copy(between: () => Promise<unknown> = async () => {}): Promise<Copied> {
      const place = await mkdtemp(join(folder, 'copy-'))
      const found = await copyDatabase(databaseAt(url), place)
      await between()
      return { bytes: await readFile(found.file), facts: found.facts }
    }

    async function put(bytes: Uint8Array | undefined): Promise<string> {
      const target = await engine.empty(folder)
      const place = await placeDatabase(databaseAt(target))
      try {
        if (bytes)
          await place.take(
            (async function* () {
              yield bytes
            })(),
          )
        await place.finish()
        return target
      } catch (error) {
        await place.abandon()
        // Left as empty as it was.
        await (await placeDatabase(databaseAt(target))).abandon()
        throw error
      }
    }

    it('has every kind of row, and no later one', async () => {
      const { store, seeding, directory, outbox } = source
      const replay = { subject: 'ada', route: '/things', key: 'k', fingerprint: 'f' }
      const odd = {
        code: 'one',
        [ODD]: 'a\tb\\c\nd',
        extra: { deep: ['\u0001', 'ü', null] },
        tags: ['x', 'y'],
        count: 3,
      }
      await store.create(creation('a', odd), { record: RECORD, replay })
      await store.create(creation('b', { code: 'two' }), { record: RECORD })
      await store.update(change('b', 1, { code: 'three' }), { record: RECORD })
      await store.create(creation('gone', {}), { record: RECORD })
      await store.delete(removal('gone', 1), { record: RECORD })
      await seeding.writeMark('kind', 'demo')
      await outbox.shipped(2)
      const key = { id: 'K', secretHash: 'h', subject: 's', roles: ['member'], name: 'n', createdAt: 1, expiresAt: 2 }
      await directory.addKey({ ...key } as Parameters<typeof directory.addKey>[0])
      const versions = await openPolicyVersions(databaseAt(url))
      await versions?.publish({ number: 1, signed: 'signed', files: new Map([['d', 'text']]) })
      const home = await versions?.home()
      const keys = await openSigningKeys(databaseAt(url))
      await keys.add(1, 'sealed')
      const secret = await store.secret('guessing')

      const { bytes, facts } = await copy(() => store.create(creation('later', {}), { record: RECORD }))
      expect(facts.outbox).to.deep.equal({ lastWrite: 5, waiting: 3, firstWaiting: 3 })
      expect(Object.values(facts.objects).toSorted()).to.deep.equal([0, 2])
      expect([facts.policySequence, facts.signingKeys]).to.deep.equal([1, ['sealed']])

      const target = await put(bytes)
      const restored = await open(target)
      expect((await restored.store.list('things', ALL)).map(({ id }) => id)).to.deep.equal(['a', 'b'])
      for (const id of ['a', 'b'])
        expect(await restored.store.get('things', id)).to.deep.equal(await store.get('things', id))
      expect((await restored.store.kept(replay))?.object.document).to.deep.equal(odd)
      expect(await restored.seeding.readMark('kind')).to.equal('demo')
      expect(await restored.store.secret('guessing')).to.deep.equal(secret)
      expect(await restored.directory.keys()).to.deep.equal(await directory.keys())
      const [versionsThere, keysThere] = [
        await openPolicyVersions(databaseAt(target)),
        await openSigningKeys(databaseAt(target)),
      ]
      expect([await versionsThere?.get(1), await versionsThere?.file('d')]).to.deep.equal(['signed', 'text'])
      // So its signed versions stay valid there.
      expect(await versionsThere?.home()).to.deep.equal(home)
      expect((await keysThere.read()).keys.map(({ text }) => text)).to.deep.equal(['sealed'])
      for (const one of [versions, keys, versionsThere, keysThere]) await one?.close()
    })

    it('keeps waiting records, and gives later writes numbers that no write of the source has', async () => {
      const { store, outbox } = source
      for (const id of ['a', 'b']) await store.create(creation(id, {}), { record: RECORD })
      await outbox.hold('00000000-0000-4000-8000-000000000000')
      const { bytes } = await copy()
      const restored = await open(await put(bytes))
      const records = await restored.outbox.waiting(10)
      expect(records.map(({ sequence }) => sequence)).to.deep.equal([1, 2])
      expect(await restored.outbox.hold('00000000-0000-4000-8000-000000000001'), 'nobody holds it').to.equal(true)
      await restored.store.create(creation('c', {}), { record: RECORD })
      expect((await restored.outbox.waiting(10)).at(-1)?.sequence).to.equal(1_000_000_001)
      await restored.store.update(change('c', 1, {}), { record: RECORD })
      expect((await restored.outbox.waiting(10)).at(-1)?.sequence).to.equal(1_000_000_002)
    })

    it('goes to an empty place only', async () => {
      const failure = await placeDatabase(databaseAt(url)).catch((error: Error) => error)
      expect(failure).to.be.instanceOf(OccupiedDatabase)
    })

    it('that is missing, or of something else, leaves nothing', async () => {
      await source.store.create(creation('a', { code: 'x'.repeat(50) }))
      const { bytes } = await copy()
      const refused = (given: Uint8Array | undefined) => put(given).catch((error: Error) => error)
      expect(await refused(undefined)).to.be.instanceOf(NotACopy)
      expect(await refused(Buffer.alloc(5000, 'x'))).to.be.instanceOf(NotACopy)
      expect(await refused(Buffer.concat([bytes.subarray(0, 4), Buffer.alloc(5000)]))).to.be.instanceOf(NotACopy)
      expect(await put(bytes), 'the whole copy').to.be.a('string')
    })
  })
}

describe('a database file', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-copies-'))
  })
  afterEach(() => removeFolder(folder))

  it('that is damaged is not copied', async () => {
    const file = join(folder, 'a.db')
    const { store } = await openDatabase(databaseAt(`sqlite:${file}`), { resources: RESOURCES, now: () => new Date() })
    for (let n = 0; n < 50; n += 1) await store.create(creation(`a${n}`, { department: 'x'.repeat(500) }))
    await store.close()
    const bytes = await readFile(file)
    bytes.fill(0xff, bytes.length - 30_000, bytes.length - 1000)
    await writeFile(file, bytes)
    const failure = await copyDatabase(databaseAt(`sqlite:${file}`), await mkdtemp(join(folder, 'c-'))).catch(
      (error) => error,
    )
    expect(failure.cause?.message).to.match(/damaged|malformed/)
  })
})
