/** What holds because long reads run beside the server's thread: nobody waits for them, and they end. */

import { copyFile } from 'node:fs/promises'
import { setImmediate as turn } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import type { Condition, Lookup } from '../../src/decide/conditions/condition.ts'
import type { Comparison } from '../../src/resources/routing/query.ts'
import type { ReadBy } from '../../src/store/contract.ts'
import { ReadTooLong, StoreUnavailable, TooManyReads } from '../../src/store/errors.ts'
import { MOST_CLIMBED, READ_BOUNDS, type ReadBounds } from '../../src/store/lists/read-bounds.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { soak } from '../runs.ts'
import { holds } from './conditions.ts'
import { describeLists } from './contract-lists.ts'
import { describeQueries, describeRandomQueries } from './contract-queries.ts'
import { describeRandomRelated, describeRelated } from './contract-related.ts'
import { ALL, Clock, NEW_YEAR } from './engine.ts'
import { creation, failure, type Opened, RESOURCES } from './fixture.ts'
import { Folder } from './folder.ts'
import { INDEXED, RELATED } from './random-related.ts'

/** A busy machine takes longer than the usual bounds, too. */
const PATIENT: ReadBounds = { ...READ_BOUNDS, listMs: 120_000, countMs: 120_000 }
const EVERYTHING_BESIDE: ReadBounds = { ...PATIENT, hereMs: 0 }
const OBJECTS = 40_000

const between = (least: number, most: number): readonly Comparison[] => [
  { field: 'price', by: 'value', operator: 'gte', values: [least] },
  { field: 'price', by: 'value', operator: 'lte', values: [most] },
]
const ANY: Condition = { kind: 'always' }

/** For each of 40,000 objects it looks at each of them: it would take minutes. */
const ENDLESS: Condition = {
  kind: 'related',
  field: 'department',
  resource: 'things',
  by: 'department',
  where: holds('extra', 'nowhere'),
}

const by = (whose: string, gone = new AbortController().signal): ReadBy => ({ whose, gone: () => gone })

/** The database of most tests is a copy of its file. */
let full: Folder
before(async () => {
  full = await Folder.make()
  const { store, seeding } = await full.open()
  const objects = Array.from({ length: OBJECTS }, (_, n) => ({
    id: `t${n}`,
    document: { price: n % 1000, department: 'same' },
  }))
  await seeding.insert('things', objects)
  await store.close()
})
after(() => full.remove())

async function filled(folder: Folder, reads: ReadBounds): Promise<Opened> {
  await copyFile(full.file, folder.file)
  return folder.open({ writer: 'thread', reads })
}

describe('long reads of SQLite', () => {
  const folder = Folder.ofEach()

  it('keep nobody waiting: a list, a sorted list and a count end after reads that came later', async () => {
    const { store } = await filled(folder, PATIENT)
    let ended = 0
    const filter = between(100, 899)
    const byPrice = [
      { field: 'price', by: 'value', descending: true },
      { field: 'id', by: 'value', descending: false },
    ] as const
    const long = [
      store.count('things', { where: ANY, filter }, by('a')),
      store.list('things', { where: ANY, filter, limit: 2, order: byPrice }, by('b')),
    ].map((read) => read.finally(() => (ended += 1)))
    for (let n = 0; n < 5; n += 1) {
      expect((await store.get('things', `t${n}`))?.document.price).to.equal(n)
      expect((await store.list('things', { where: ANY, limit: 2 })).map(({ id }) => id)).to.deep.equal(['t0', 't1'])
      await turn()
    }
    expect(ended).to.equal(0)
    const [counted, listed] = await Promise.all(long)
    expect(counted).to.deep.equal({ found: 32_000, isExact: true })
    expect((listed as readonly { readonly id: string }[]).map(({ id }) => id)).to.deep.equal(['t10899', 't11899'])
  })

  it('would keep everybody waiting in the thread itself', async () => {
    const { seeding } = await filled(folder, PATIENT)
    expect(await seeding.count('things')).to.equal(OBJECTS)
    const { store } = await folder.open({ writer: 'here' })
    let ended = false
    void store.count('things', { where: ANY, filter: between(100, 899) }).finally(() => {
      ended = true
    })
    await store.get('things', 't1')
    await turn()
    expect(ended).to.equal(true)
  })

  it('see each write that was acknowledged before', async () => {
    const { store } = await folder.open({ writer: 'thread', reads: EVERYTHING_BESIDE })
    for (let n = 1; n <= 50; n += 1) {
      await store.create(creation(`t${n}`, { price: 1 }))
      const query = { where: ANY, filter: between(1, 1) }
      const [listed, counted, [group]] = await Promise.all([
        store.list('things', { ...query, limit: 100 }, by('a')),
        store.count('things', query, by('b')),
        store.aggregate('things', { ...query, by: [], of: ['price'], limit: 1 }, by('c')),
      ])
      expect([listed.length, counted.found, group?.count, Number(group?.numbers[0]?.sum)]).to.deep.equal([n, n, n, n])
    }
  })

  it('end when their client is gone, and leave their thread to the next read', async () => {
    const { store } = await filled(folder, EVERYTHING_BESIDE)
    const clients = Array.from({ length: 4 }, () => new AbortController())
    const reads = clients.map(({ signal }, n) =>
      failure(store.list('things', { where: ENDLESS, limit: 1 }, by(`${n % 2}`, signal))),
    )
    const last = store.count('things', { where: ANY, filter: between(0, 9) }, by('0'))
    await turn()
    for (const client of clients) client.abort(new Error('gone'))
    for (const read of reads) expect(await read).to.have.property('message', 'gone')
    expect(await last).to.deep.equal({ found: 400, isExact: true })
    expect(
      await failure(store.list('things', { where: ENDLESS, limit: 1 }, by('0', AbortSignal.abort()))),
    ).to.have.property('name', 'AbortError')
  })

  it('end with the store', async () => {
    const { store } = await filled(folder, EVERYTHING_BESIDE)
    const reads = Array.from({ length: 3 }, () => failure(store.count('things', { where: ENDLESS }, by('a'))))
    await turn()
    await store.close()
    for (const read of reads) expect(await read).to.be.instanceOf(Error)
  })

  it('leave no thread behind where the store closes before they begin', async () => {
    const running = new Set<Worker>()
    const note = (worker: Worker) => {
      running.add(worker)
      worker.once('exit', () => running.delete(worker))
    }
    process.on('worker', note)
    try {
      const { store } = await filled(folder, EVERYTHING_BESIDE)
      const read = failure(store.count('things', { where: ANY }, by('a')))
      await store.close()
      expect(await read).to.be.instanceOf(StoreUnavailable)
      expect(running.size).to.equal(0)
      const next = await folder.open({ writer: 'thread', reads: EVERYTHING_BESIDE })
      expect(await next.store.count('things', { where: ANY }, by('a'))).to.include({ found: OBJECTS })
      expect(running.size, 'the control').to.be.greaterThan(0)
    } finally {
      process.off('worker', note)
    }
  })

  it('end at their bound: a list fails, and a count says how many it has found', async () => {
    const { store } = await filled(folder, { ...EVERYTHING_BESIDE, listMs: 20, countMs: 20 })
    expect(await failure(store.list('things', { where: ENDLESS, limit: 1 }))).to.be.instanceOf(ReadTooLong)
    const query = { where: { kind: 'not', of: ENDLESS }, filter: between(0, 1) } as const
    const { found, isExact } = await store.count('things', query)
    expect(isExact).to.equal(false)
    expect(found).to.be.within(0, 80)
    const known = { where: { kind: 'some', of: [holds('id', 't1', 't2'), ENDLESS] }, limit: 9 } as const
    const atLeast = await store.count('things', known)
    expect(atLeast).to.include({ isExact: false })
    expect(atLeast.found).to.be.within(0, 2)
  })

  it('take turns: one caller has one thread, and others read meanwhile', async () => {
    const { store } = await filled(folder, EVERYTHING_BESIDE)
    const client = new AbortController()
    const endless = Array.from({ length: 5 }, () =>
      failure(store.list('things', { where: ENDLESS, limit: 1 }, by('a', client.signal))),
    )
    const [first, second] = await Promise.all(
      ['b', 'c'].map((who) => store.count('things', { where: ANY, filter: between(0, 9) }, by(who))),
    )
    expect([first, second]).to.deep.equal(Array(2).fill({ found: 400, isExact: true }))
    client.abort()
    await Promise.all(endless)
  })

  it('are refused beyond the most of a caller, and of all', async () => {
    const { store } = await filled(folder, { ...EVERYTHING_BESIDE, most: { ofCaller: 2, ofAll: 3 } })
    const client = new AbortController()
    const read = (who: string) => failure(store.list('things', { where: ENDLESS, limit: 1 }, by(who, client.signal)))
    const endless = [read('a'), read('a')]
    expect(await read('a')).to.be.instanceOf(TooManyReads)
    endless.push(read('b'))
    expect(await read('c')).to.be.instanceOf(TooManyReads)
    // What needs no thread is still answered.
    expect(await store.list('things', { where: ANY, limit: 1 }, by('a'))).to.have.length(1)
    client.abort()
    await Promise.all(endless)
    expect(await store.count('things', { where: ANY, filter: between(0, 9) }, by('a'))).to.include({ found: 400 })
  })

  it('name a damaged document as any read does', async () => {
    const { store } = await folder.open({ writer: 'thread', reads: EVERYTHING_BESIDE })
    await store.create(creation('t1', { price: 1 }, 'Things'))
    folder.raw().exec(`update "objects_^Things" set document = '{'`)
    const query = {
      where: ANY,
      filter: [{ field: 'price', by: 'value', operator: 'gt', values: [0] }],
      limit: 1,
    } as const
    expect(await failure(store.list('Things', query, by('a')))).to.have.property('name', 'DamagedObject')
  })

  describe('a climb', () => {
    /** Each of 200 projects has all others as parents. */
    async function graph(parents: number): Promise<Opened> {
      const opened = await folder.open({ resources: RELATED, indexFields: INDEXED })
      const ids = Array.from({ length: 200 }, (_, n) => `o${n}`)
      const objects = ids.map((id, n) => ({
        id,
        document: { list: ids.slice(n + 1, n + 1 + parents), up: ids[n + 1] ?? null },
      }))
      await opened.seeding.insert('projects', objects)
      return opened
    }
    const climbing = (field: string): Lookup => {
      return {
        resource: 'projects',
        by: 'id',
        values: ['o0'],
        climb: { field, depth: 8 },
        where: holds('own', 'nobody'),
      }
    }

    it('through lists that a member made wide ends at its bound, alone and in a write', async () => {
      const { store } = await graph(200)
      expect(await failure(Promise.resolve().then(() => store.lookup(climbing('list'))))).to.be.instanceOf(ReadTooLong)
      const rests = { lookups: [{ lookup: climbing('list'), holds: false }] }
      expect(await failure(store.create(creation('new', {}, 'projects', rests)))).to.be.instanceOf(ReadTooLong)
      expect(await store.lookup({ ...climbing('list'), where: holds('id', 'o1') }), 'near').to.equal(true)
      expect(MOST_CLIMBED).to.be.below(200 * 199)
    })

    it('by one parent, or by few, is answered', async () => {
      const { store } = await graph(8)
      expect(await store.lookup(climbing('up'))).to.equal(false)
      expect(await store.lookup(climbing('list'))).to.equal(false)
    })
  })

  describe('give the same results', () => {
    const engine = {
      name: 'SQLite whose lists are read beside',
      keeps: 'shared' as const,
      share: soak(0.02, 0),
      create: async () => {
        const beside = await Folder.make()
        return {
          open: (setup: object) => beside.open({ ...setup, writer: 'thread', reads: EVERYTHING_BESIDE }),
          remove: () => beside.remove(),
        }
      },
    }
    const open = () => folder.open({ writer: 'thread', reads: EVERYTHING_BESIDE, now: new Clock().now })
    describeLists(open)
    describeQueries(open)
    describeRelated(() => ({
      open: (setup) => folder.open({ ...setup, writer: 'thread', reads: EVERYTHING_BESIDE }),
      remove: () => folder.remove(),
    }))
    if (engine.share === 0) return
    describeRandomQueries(engine)
    describeRandomRelated(engine)
  })
})

describe('a store in memory', () => {
  it('reads in its own thread, within the same bounds', async () => {
    const opened = await openSqlite({
      file: ':memory:',
      resources: RESOURCES,
      now: () => new Date(NEW_YEAR),
      writer: 'thread',
      reads: { ...EVERYTHING_BESIDE, listMs: 0, countMs: 0 },
    })
    await opened.seeding.insert('things', [{ id: 'a', document: { price: 1 } }])
    const query = { where: ANY, filter: between(0, 9) }
    expect(await failure(opened.store.list('things', { ...ALL, ...query }))).to.be.instanceOf(ReadTooLong)
    expect(await opened.store.count('things', query)).to.deep.equal({ found: 0, isExact: false })
    await opened.store.close()
  })
})
