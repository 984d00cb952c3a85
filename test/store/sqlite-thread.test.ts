/** What holds because a thread writes: nobody waits who only reads, and nothing hangs when the thread can't go on. */
import { rename, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { policyVersionsIn } from '../../src/store/policy-versions.ts'
import { signingKeysIn } from '../../src/store/signing-keys.ts'
import { sqlite } from '../../src/store/sqlite/open.ts'
import { MOST_WAITING } from '../../src/store/sqlite/thread/thread.ts'
import { ALL } from './engine.ts'
import { change, creation, failure, type Opened } from './fixture.ts'
import { Folder } from './folder.ts'
import { answersDuring, FEW, type HeldLock, holdLock } from './lock-holder.ts'
import { statementsOf } from './statements.ts'

/** https://sqlite.org/rescode.html */
const SQLITE_BUSY = 5

describe('a store that a thread writes', () => {
  let folder: Folder
  let opened: Opened
  let held: HeldLock | undefined
  beforeEach(async () => {
    folder = await Folder.make()
    opened = await folder.open({ writer: 'thread' })
    held = undefined
  })
  afterEach(async () => {
    await held?.release()
    await folder.remove()
  })

  const create = (id: string) => opened.store.create(creation(id, { code: id }), { record: id })
  const stored = async () => (await opened.store.list('things', ALL)).map(({ id }) => id)

  it('answers reads while another process holds the lock and a write waits for it; then it writes again', async () => {
    const first = await create('a')
    held = await holdLock(folder.file)
    const refused = failure(create('b'))
    const reads = await answersDuring(refused, async () => {
      expect(await opened.store.get('things', 'a')).to.deep.equal(first)
    })
    expect(reads).to.be.above(FEW)
    const error = await refused
    expect(error).to.be.instanceOf(StoreUnavailable)
    expect((error as StoreUnavailable).cause).to.have.property('errcode', SQLITE_BUSY)
    await held.release()
    held = undefined
    await create('b')
    expect(await stored()).to.deep.equal(['a', 'b'])
  })

  it('would not, written by the thread that reads', async () => {
    const { store } = await folder.open()
    await store.create(creation('a', {}))
    held = await holdLock(folder.file)
    expect(await answersDuring(failure(store.update(change('a', 1, {}))), () => store.get('things', 'a'))).to.be.below(
      FEW,
    )
  })

  it('makes no statement that writes on the connection that reads', async () => {
    const { store, directory, attempts, seeding, outbox } = opened
    await create('before')
    const counter = { failures: 1, at: 0, expiresAt: Date.now() + 60_000 }
    const seen = await statementsOf(async () => {
      await create('a')
      await store.lookupAfter(creation('b', {}), {
        resource: 'things',
        by: 'id',
        values: ['b'],
        where: { kind: 'always' },
      })
      await store.secret('cursor')
      await store.ping()
      await directory.disable('alice')
      await seeding.insert('things', [{ id: 'c', document: {} }])
      await seeding.writeMark('m', '1')
      await attempts.count(['k'], () => ({ verdict: 1, changes: new Map([['k', counter]]) }))
      expect(await outbox.hold('me')).to.equal(true)
      await outbox.shipped(9)
      await outbox.release('me')
    })
    expect(seen.filter((text) => /begin|savepoint|insert|update|delete/i.test(text))).to.deep.equal([])
    const counted = await attempts.count(['k'], (found) => ({ verdict: found.get('k')?.failures }))
    expect([counted, await stored()]).to.deep.equal([1, ['a', 'before', 'c']])
  })

  it('acknowledges writes in the order of their records, which is the order in which they were asked for', async () => {
    const ids = Array.from({ length: 300 }, (_, n) => `t${String(n).padStart(3, '0')}`)
    const acknowledged: string[] = []
    const writes = ids.map(async (id, n) => {
      // Some turns of the event loop have many, others one.
      if (n % 7 === 0) await sleep(n % 5)
      const asked = id
      return create(asked).then(() => acknowledged.push(asked))
    })
    await Promise.all(writes)
    expect((await opened.outbox.waiting(1000)).map(({ record }) => record)).to.deep.equal(acknowledged)
    expect(acknowledged.toSorted()).to.deep.equal(ids)
  })

  it('refuses what comes when too many writes wait, and stores the others', async () => {
    const most = MOST_WAITING + 10
    const results = await Promise.allSettled(Array.from({ length: most }, (_, n) => create(`t${n}`)))
    const refused = results
      .filter(({ status }) => status === 'rejected')
      .map((one) => (one as PromiseRejectedResult).reason)
    expect(refused).to.have.length(10)
    for (const error of refused) expect(error).to.be.instanceOf(StoreUnavailable)
    expect(await opened.store.count('things', ALL)).to.deep.equal({ found: MOST_WAITING, isExact: true })
  })

  it('tells the connection that reads when the statistics have changed, by which it chooses indexes, and only then', async () => {
    const raw = folder.raw()
    const version = () => raw.prepare('pragma schema_version').get()?.schema_version
    await create('a')
    const before = version()
    await create('b')
    expect(version()).to.equal(before)
    await opened.seeding.insert(
      'things',
      Array.from({ length: 500 }, (_, n) => ({ id: `s${n}`, document: {} })),
    )
    expect(version()).to.be.above(Number(before))
  })

  describe('whose thread ends', () => {
    const { postMessage } = Worker.prototype
    const workers = new Set<Worker>()
    beforeEach(() => {
      Worker.prototype.postMessage = function (...sent: Parameters<Worker['postMessage']>) {
        workers.add(this)
        return postMessage.apply(this, sent)
      }
    })
    afterEach(() => {
      Worker.prototype.postMessage = postMessage
      workers.clear()
    })

    /** Whatever it does at that moment. */
    const end = () => Promise.all([...workers].map((worker) => worker.terminate()))
    const untilWritten = async (id: string) => {
      for (;;) {
        const error = await create(id).then(
          () => undefined,
          (failed) => failed,
        )
        if (!error) return
        expect(error).to.be.instanceOf(StoreUnavailable)
        await sleep(50)
      }
    }

    it('fails what waits, is not ready, still reads, and writes again by itself', async () => {
      await create('a')
      held = await holdLock(folder.file)
      const waiting = ['b', 'c'].map((id) => failure(create(id)))
      await sleep(1)
      await end()
      for (const error of await Promise.all(waiting)) {
        expect(error).to.be.instanceOf(StoreUnavailable)
        expect((error as StoreUnavailable).why).to.contain('the thread that writes ended')
      }
      expect(await failure(opened.store.ping())).to.be.instanceOf(StoreUnavailable)
      expect(await stored()).to.deep.equal(['a'])
      await held.release()
      held = undefined
      await untilWritten('d')
      expect(await stored()).to.deep.equal(['a', 'd'])
    })

    it('fails what waits when it ends by a fault of its own', async () => {
      await create('a')
      const [worker] = workers
      // It may come before the fault.
      const waiting = create('b').catch(() => undefined)
      await sleep(0)
      worker?.postMessage({ kind: 'ask', calls: 1 })
      const late = await failure(create('c'))
      expect((late as StoreUnavailable).why).to.contain('the thread that writes ended: ')
      await waiting
      await untilWritten('d')
    })

    it('writes to no other file than the one that is read', async () => {
      await create('a')
      await end()
      await rename(folder.file, `${folder.file}.away`)
      await writeFile(folder.file, '')
      await sleep(1000)
      for (;;) {
        const why = ((await failure(create('b'))) as StoreUnavailable).why
        if (!why.includes('the thread that writes ended')) {
          expect(why).to.contain('was moved, deleted or replaced')
          break
        }
      }
      await rename(`${folder.file}.away`, folder.file)
      await untilWritten('b')
    })
  })
})

describe('what instances share, written by a thread', () => {
  it('is read here, and written there', async () => {
    const folder = await Folder.make()
    await (await folder.open()).store.close()
    const keys = await signingKeysIn(await sqlite.openInstances(folder.file, 'keys', 'thread'))
    const versions = await policyVersionsIn(await sqlite.openInstances(folder.file, 'versions', 'thread'))
    const seen = await statementsOf(async () => {
      expect(await keys.add(1, 'one')).to.equal(true)
      expect(await keys.add(1, 'other')).to.equal(false)
      expect(await keys.replace(1, 'one', 'two')).to.equal(true)
      expect(await keys.noteToken(1, 1000)).to.equal(true)
      expect(await versions.publish({ number: 1, signed: 's', files: new Map([['d', 'text']]) })).to.equal(true)
      await versions.note('here', 'state')
    })
    expect(seen).to.deep.equal([])
    expect((await keys.read()).keys.map(({ text }) => text)).to.deep.equal(['two'])
    expect([await versions.latest(), await versions.file('d')]).to.deep.equal([1, 'text'])
    expect((await versions.instances()).map(({ name }) => name)).to.deep.equal(['here'])
    await versions.forget('here')
    expect(await versions.instances()).to.deep.equal([])
    await keys.close()
    await versions.close()
    await folder.remove()
  })
})
