/** The contract: the log of changes has what each write made of an object, on every path, in the order of the commits. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Document, StoredObject } from '../../src/resources/object.ts'
import type { ObjectChange, ObjectChanges } from '../../src/store/changes.ts'
import { isOfContract, StaleObject, UniqueTaken } from '../../src/store/errors.ts'
import { runs } from '../runs.ts'
import { ALL, type Clock, NEW_YEAR, type TestDatabase, type TestEngine } from './engine.ts'
import { change, creation, failure, keepingChanges, type Opened, RESOURCES, removal } from './fixture.ts'

const HOUR_MS = 3_600_000
const KEPT = keepingChanges(HOUR_MS)
const BY = { subject: 'ann', requestId: 'r1', action: 'update', revision: 'v1', rules: ['policy.csv:3'] }

export function describeChanges(database: () => TestDatabase, clock: () => Clock): void {
  const open = (resources = KEPT) => database().open({ resources, now: clock().now })

  it('logs a create, an update and a delete: before, after, when, who and which lines', async () => {
    const { store, changes } = await open()
    const [first, later, last] = ['01', '02', '03'].map((day) => `2026-01-${day}T00:00:00.000Z`)
    const made = await store.create(creation('é\u0000', { count: 1 }), { time: first ?? '', by: BY, record: 'made' })
    const other = { ...BY, subject: '\u0001"\ud800', requestId: 'r2' }
    const changed = await store.update(change('é\u0000', 1, { count: 2 }), { time: later ?? '', by: other })
    await store.delete(removal('é\u0000', 2), { time: last ?? '', by: { ...BY, requestId: 'r3' } })
    const { changes: logged } = await changes.after(0, 10)
    const object = { resource: 'things', id: 'é\u0000' }
    expect(logged.map(({ number, ...one }) => one)).to.deep.equal([
      { ...object, before: undefined, after: made, isDelete: false, at: first, by: BY },
      { ...object, before: made, after: changed, isDelete: false, at: later, by: other },
      { ...object, before: changed, after: undefined, isDelete: true, at: last, by: { ...BY, requestId: 'r3' } },
    ])
    expect(logged.map(({ number }) => number)).to.deep.equal(rising(logged))
    expect(await changes.last()).to.equal(logged.at(-1)?.number)
    expect((await changes.after(logged[0]?.number ?? 0, 1)).changes).to.deep.equal(logged.slice(1, 2))
  })

  it('tells of each write of one commit who made it, and of a write without a decision nobody', async () => {
    const { store, changes, seeding } = await open()
    const by = (n: number) => ({ requestId: `r${n}`, revision: 'v1' })
    await Promise.all([1, 2, 3].map((n) => store.create(creation(`t${n}`, {}), { by: by(n), record: `made ${n}` })))
    await Promise.all([
      store.update(change('t1', 1, { count: 1 }), { by: by(4) }),
      store.update(change('t2', 1, { count: 1 })),
      store.create(creation('T', {}, 'Things'), { by: by(5) }),
    ])
    await seeding.insert('things', [{ id: 's', document: {} }])
    const logged = (await changes.after(0, 10)).changes
    const names = logged.map((one) => `${one.id} ${one.by?.requestId ?? 'nobody'}`)
    expect(names).to.have.members(['t1 r1', 't2 r2', 't3 r3', 't1 r4', 't2 nobody', 's nobody'])
  })

  it('logs what comes along with a delete, what commands and seeding write, and writes with idempotency keys', async () => {
    const { store, seeding, changes } = await open()
    await seeding.insert('things', [
      { id: 'a', document: { ownerId: 'o' } },
      { id: 'b', document: { ownerId: 'o' } },
    ])
    await seeding.replace('things', { id: 'a', version: 1, document: { ownerId: 'p' } })
    const replay = { subject: 'ann', route: '/things', key: 'k', fingerprint: 'f' }
    await store.create(creation('o', {}, 'Things'), { by: BY })
    await store.create(creation('c', {}), { by: BY, replay })
    await store.update(change('c', 1, { count: 1 }), { by: BY, replay: { ...replay, key: 'l' } })
    const along = [removal('a', 2), change('b', 1, {})]
    await store.delete(removal('o', 1, 'Things'), { by: { ...BY, requestId: 'r9' }, along })
    expect(await seeding.remove('things', { id: 'c', version: 1 }).catch((error) => error.name)).to.equal('StaleObject')
    await seeding.remove('things', { id: 'c', version: 2 })
    const logged = (await changes.after(0, 20)).changes
    const told = logged.map(
      ({ id, before, after, by }) => `${id} ${before?.version} ${after?.version} ${by?.requestId}`,
    )
    expect(told).to.have.members([
      ...['a undefined 1 undefined', 'b undefined 1 undefined', 'a 1 2 undefined'],
      ...['c undefined 1 r1', 'c 1 2 r1', 'a 2 undefined r9', 'b 1 2 r9', 'c 2 undefined undefined'],
    ])
  })

  it('logs nothing of a write that did not take place, and nothing of resources that keep no changes', async () => {
    const { store, changes, transactions } = await open()
    await store.create(creation('T', {}, 'Things'))
    await store.update(change('T', 1, { ownerId: 'a' }, 'Things'))
    await store.delete(removal('T', 2, 'Things'))
    await store.create(creation('t', { code: 'x' }))
    expect(await failure(store.create(creation('u', { code: 'x' })))).to.be.instanceOf(UniqueTaken)
    expect(await failure(store.update(change('t', 7, {}), { by: BY }))).to.be.instanceOf(StaleObject)
    const undone = new Error('undone')
    const work = transactions?.run(async (within) => {
      await within.store.create(creation('v', {}), { by: BY })
      throw undone
    })
    if (work) expect(await failure(work)).to.equal(undone)
    expect((await changes.after(0, 10)).changes.map(({ id }) => id)).to.deep.equal(['t'])
  })

  it('logs the writes of a transaction, each with its own request, when it commits', async () => {
    const { store, changes, transactions } = await open()
    if (!transactions) return
    await store.create(creation('a', {}))
    await transactions.run(async (within) => {
      await within.store.create(creation('b', {}), { by: BY })
      await within.store.delete(removal('a', 1))
      expect(await changes.last()).to.equal((await changes.after(0, 10)).changes[0]?.number)
    })
    const logged = (await changes.after(0, 10)).changes
    expect(logged.map(({ id, by }) => `${id} ${by?.requestId}`)).to.deep.equal(['a undefined', 'b r1', 'a undefined'])
  })

  it('ends what is older than it is kept, and tells readers that have not seen it', async () => {
    const { store, changes } = await open()
    const at = (minutes: number) => ({ time: new Date(Date.parse(NEW_YEAR) + minutes * 60_000).toISOString() })
    await store.create(creation('t', {}), at(0))
    await store.update(change('t', 1, { count: 1 }), at(30))
    await store.update(change('t', 2, { count: 2 }), at(50))
    const [, second, third] = (await changes.after(0, 10)).changes
    clock().time = at(95).time
    await changes.expire()
    const left = await changes.after(0, 10)
    expect(left.changes).to.deep.equal([third])
    expect(left.since.get('things')).to.equal(second?.number)
    clock().time = at(500).time
    await changes.expire()
    expect((await changes.after(0, 10)).changes).to.deep.equal([])
    expect(await changes.last()).to.equal(third?.number)
    await store.update(change('t', 3, { count: 3 }), at(500))
    expect((await changes.after(third?.number ?? 0, 10)).changes).to.have.length(1)
  })

  it('erases one field, or all, of what is kept of one object, and of no other', async () => {
    const { store, changes } = await open()
    for (const id of ['t', 'u']) await store.create(creation(id, { department: 'x', count: 0, __proto__: 'p' }))
    for (let n = 1; n <= 60; n += 1) await store.update(change('t', n, { department: `x${n}`, count: n }))
    await store.update(change('t', 61, { count: 61 }))
    const before = (await changes.after(0, 100)).changes
    expect(await changes.erase({ resource: 'things', id: 't' }, 'department')).to.equal(62)
    const erased = (await changes.after(0, 100)).changes
    const without = (object: StoredObject | undefined) => {
      if (!object) return undefined
      const { department, ...document } = object.document
      return { ...object, document }
    }
    expect(erased).to.deep.equal(
      before.map((one) => (one.id === 'u' ? one : { ...one, before: without(one.before), after: without(one.after) })),
    )
    expect(await changes.erase({ resource: 'things', id: 't' }, 'department')).to.equal(0)
    expect((await changes.of({ resource: 'things', id: 't' }, { since: '', limit: 100 })).length).to.equal(62)
    expect(await changes.erase({ resource: 'things', id: 't' }, undefined)).to.equal(62)
    const { changes: left, since } = await changes.after(0, 100)
    expect(left.map(({ id }) => id)).to.deep.equal(['u'])
    // A reader that hasn't seen the erased changes would miss them.
    expect(since.get('things')).to.equal(before.at(-1)?.number)
    expect((await store.get('things', 't'))?.version).to.equal(62)
  })

  it('forgets who made changes, of one subject in all resources', async () => {
    const { store, changes } = await open()
    for (let n = 0; n < 3; n += 1) await store.create(creation(`t${n}`, {}), { by: BY })
    await store.create(creation('u', {}), { by: { ...BY, subject: 'bob' } })
    expect(await changes.eraseWriter('ann')).to.equal(3)
    expect(await changes.eraseWriter('ann')).to.equal(0)
    const subjects = (await changes.after(0, 10)).changes.map(({ by }) => by?.subject)
    expect(subjects).to.deep.equal([undefined, undefined, undefined, 'bob'])
  })

  it('gives large changes in pieces', async () => {
    const { store, changes } = await open()
    const text = 'x'.repeat(700_000)
    for (let n = 0; n < 8; n += 1) await store.create(creation(`t${n}`, { extra: text }))
    const first = (await changes.after(0, 100)).changes
    expect(first.length).to.be.within(5, 7)
    expect((await changes.after(first.at(-1)?.number ?? 0, 100)).changes).to.have.length(8 - first.length)
  })

  it('wakes listeners, one call for many commits, until they leave', async () => {
    const { store, changes } = await open()
    let calls = 0
    const leave = changes.onChange(() => {
      calls += 1
    })
    await until(() => calls === 1)
    for (let n = 0; n < 20; n += 1) await store.create(creation(`t${n}`, {}))
    await until(() => calls > 1)
    expect(calls).to.be.lessThan(20)
    leave()
    const before = calls
    await store.create(creation('u', {}))
    await sleep(250)
    expect(calls).to.equal(before)
  })
}

/** Of databases that outlive their instance. */
export function describeSharedChanges(database: () => TestDatabase): void {
  const open = (resources = KEPT) => database().open({ resources, now: () => new Date(NEW_YEAR) })

  it('tells readers from which change on none is missing, when a resource begins, ends and begins again', async () => {
    const before = await open(RESOURCES)
    await before.store.create(creation('t', {}))
    expect((await before.changes.after(0, 10)).since.size).to.equal(0)
    const first = await open()
    const begun = await sinceOf(first)
    expect(begun).to.equal(await first.changes.last())
    await first.store.update(change('t', 1, { count: 1 }))
    const seen = await first.changes.last()
    expect(seen).to.be.greaterThan(begun)
    // A further instance, and another time, change nothing.
    expect(await sinceOf(await open(keepingChanges(2 * HOUR_MS)))).to.equal(begun)
    const without = await open(RESOURCES)
    await without.store.update(change('t', 2, { count: 2 }))
    expect(await sinceOf(first)).to.be.greaterThan(1e15)
    expect(await first.changes.last()).to.equal(seen)
    const again = await open()
    expect(await sinceOf(again)).to.be.greaterThan(seen)
    await again.store.update(change('t', 3, { count: 3 }))
    expect((await again.changes.after(await sinceOf(again), 10)).changes).to.have.length(1)
  })

  it('logs what another program writes, without a writer, and gives a damaged document as an absent one', async () => {
    const { store, changes } = await open(keepingChanges(HOUR_MS, ['Things']))
    await store.create(creation('t', { ownerId: 'a' }, 'Things'), { by: BY })
    for (const text of ['{"ownerId":"b"}', 'no JSON', '{"ownerId":"c"}']) await database().damage?.('t', text)
    const logged = (await changes.after(0, 10)).changes
    const told = logged.map(({ before, after, by }) => [before?.document.ownerId, after?.document.ownerId, by?.subject])
    expect(told).to.deep.equal([
      [undefined, 'a', 'ann'],
      ['a', 'b', undefined],
      ['b', undefined, undefined],
      [undefined, 'c', undefined],
    ])
    expect(logged.map(({ number }) => number)).to.deep.equal(rising(logged))
    expect(
      (await changes.of({ resource: 'Things', id: 't' }, { since: '', limit: 2 })).map(({ number }) => number),
    ).to.deep.equal(
      logged
        .slice(2)
        .map(({ number }) => number)
        .toReversed(),
    )
  })

  it('wakes a listener of another instance, also when changes are no longer kept', async () => {
    const [reader, writer] = [await open(), await open()]
    let calls = 0
    const leave = reader.changes.onChange(() => {
      calls += 1
    })
    await until(() => calls === 1)
    await writer.store.create(creation('t', {}))
    await until(() => calls === 2)
    await open(RESOURCES)
    await until(() => calls === 3)
    leave()
  })
}

const step = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  writer: fc.nat({ max: 1 }),
  kind: fc.constantFrom('create', 'update', 'update', 'delete', 'insert', 'fails', 'transaction'),
  count: fc.nat(),
})

export function describeRandomChanges(database: () => TestDatabase, { keeps }: Pick<TestEngine, 'keeps'>): void {
  it('a reader that follows concurrent writers holds what is stored, and sees each change in order', async () => {
    const open = () => database().open({ resources: KEPT, now: () => new Date() })
    const one = await open()
    const writers = [one, keeps === 'shared' ? await open() : one]
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 80 }), fc.nat({ max: 5 }), async (steps, pause) => {
        const from = await one.changes.last()
        const before = await allOf(one)
        const reading = new AbortController()
        const seen = follow(one.changes, from, reading.signal)
        const lanes = [0, 1, 2, 3].map((lane) => steps.filter((_, n) => n % 4 === lane))
        await Promise.all(lanes.map((lane) => writeAll(lane, writers, pause)))
        reading.abort()
        const logged = await seen
        const stored = await allOf(one)
        expect(replay(logged, before)).to.deep.equal(stored)
        expect(logged.map(({ number }) => number)).to.deep.equal(rising(logged))
        // The negative control: a reader that misses one change is found.
        const missed = logged.toSpliced(Math.floor(logged.length / 2), 1)
        expect(() => expect(replay(missed, before)).to.deep.equal(stored)).to.throw()
      }),
      { numRuns: runs(20, 2), endOnFailure: true },
    )
  })
}

async function writeAll(lane: readonly Step[], writers: readonly Opened[], pause: number): Promise<void> {
  for (const { id, writer, kind, count } of lane) {
    const { store, seeding, transactions } = writers[writer] as Opened
    const version = (await store.get('things', id))?.version ?? 0
    const document: Document = { count }
    const writes = {
      create: () => store.create(creation(id, document), { by: BY }),
      update: () => store.update(change(id, version, document), { by: BY, record: 'changed' }),
      delete: () => store.delete(removal(id, version)),
      insert: () => seeding.insert('things', [{ id, document }]),
      fails: () => store.update(change(id, version + 1, document)),
      transaction: async () =>
        transactions?.run(async (within) => {
          await within.store.update(change(id, version, document))
          if (count % 2 === 0) throw new StaleObject()
        }),
    }
    const failed = await failureOf(writes[kind]())
    if (failed !== undefined && !isOfContract(failed)) throw failed
    if (pause > 3) await sleep(1)
  }
}

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

/** Reads all changes, until it was told to end and has seen the last one. */
async function follow(changes: ObjectChanges, from: number, end: AbortSignal): Promise<readonly ObjectChange[]> {
  const seen: ObjectChange[] = []
  for (;;) {
    const isLast = end.aborted
    const { changes: some, since } = await changes.after(seen.at(-1)?.number ?? from, 7)
    expect(since.get('things')).to.be.at.most(from)
    seen.push(...some)
    if (some.length === 0 && isLast) return seen
    if (some.length === 0) await sleep(1)
  }
}

/** What a reader holds in the end. Each change begins with what the one before it left. */
function replay(changes: readonly ObjectChange[], objects: readonly StoredObject[]): readonly StoredObject[] {
  const held = new Map(objects.map((object) => [object.id, object]))
  for (const { id, before, after } of changes) {
    expect(before, id).to.deep.equal(held.get(id))
    if (after) held.set(id, after)
    else held.delete(id)
  }
  return [...held.values()].toSorted(byId)
}

async function allOf({ store }: Opened): Promise<readonly StoredObject[]> {
  const listed = await store.list('things', ALL)
  const found = await Promise.all(listed.map(({ id }) => store.get('things', id)))
  return found.filter((one) => one !== undefined).toSorted(byId)
}

function byId(one: StoredObject, other: StoredObject): number {
  return one.id < other.id ? -1 : 1
}

function rising(changes: readonly ObjectChange[]): readonly number[] {
  return [...new Set(changes.map(({ number }) => number))].toSorted((one, other) => one - other)
}

async function sinceOf({ changes }: Opened): Promise<number> {
  return (await changes.after(0, 1)).since.get('things') ?? Number.NaN
}

async function until(holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 5000; !holds() && performance.now() < end; ) await sleep(5)
  expect(holds()).to.equal(true)
}
