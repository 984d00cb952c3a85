/** The contract: a write commits only if everything that its permit rests on is still so, in the order of the commits. */
import { expect } from 'chai'
import type { Lookup } from '../../src/decide/conditions/condition.ts'
import type { ReadSet } from '../../src/decide/permits/permit.ts'
import { StaleObject } from '../../src/store/errors.ts'
import { ALL, NEW_YEAR, type TestDatabase } from './engine.ts'
import { change, creation, failure, type Opened, removal } from './fixture.ts'
import { INDEXED, RELATED } from './random-related.ts'

export function describeReadSet(database: () => TestDatabase): void {
  const open = () =>
    database().open({ resources: RELATED, now: () => new Date(NEW_YEAR), indexFields: INDEXED }) as Promise<Opened>

  const member = (project: string): Lookup => ({
    resource: 'projects',
    by: 'up',
    values: [project],
    where: { kind: 'holds', field: 'own', values: ['alice'] },
  })
  const membership = (id: string) => creation(id, { up: 'p', own: 'alice' }, 'projects')
  const rests = (holds: boolean): ReadSet => ({ lookups: [{ lookup: member('p'), holds }] })

  async function opened() {
    const { store, outbox } = await open()
    await store.create(creation('t', { count: 0 }, 'tasks'))
    const task = async () => (await store.get('tasks', 't'))?.document
    return { store, task, records: async () => (await outbox.waiting(100)).map(({ record }) => record) }
  }

  it('writes, of each kind, where a related object is still there, and refuses where it is not', async () => {
    const { store, task, records } = await opened()
    await store.create(membership('m'))
    await store.update(change('t', 1, { count: 1 }, 'tasks', rests(true)))
    await store.create(creation('t2', {}, 'tasks', rests(true)))
    await store.delete(removal('t2', 1, 'tasks', rests(true)))
    await store.delete(removal('m', 1, 'projects'))
    const record = 'refused'
    const writes = [
      () => store.update(change('t', 2, { count: 2 }, 'tasks', rests(true)), { record }),
      () => store.create(creation('t3', {}, 'tasks', rests(true)), { record }),
      () => store.delete(removal('t', 2, 'tasks', rests(true)), { record }),
    ]
    for (const write of writes) expect(await failure(write())).to.be.instanceOf(StaleObject)
    expect(await task()).to.deep.equal({ count: 1 })
    expect(await store.list('tasks', ALL)).to.have.length(1)
    expect(await records(), 'a record of a refused write').to.deep.equal([])
  })

  it('refuses where an object has come that the decision did not find', async () => {
    const { store, task } = await opened()
    await store.update(change('t', 1, { count: 1 }, 'tasks', rests(false)))
    await store.create(membership('m'))
    expect(await failure(store.update(change('t', 2, { count: 2 }, 'tasks', rests(false))))).to.be.instanceOf(
      StaleObject,
    )
    expect(await task()).to.deep.equal({ count: 1 })
  })

  it("refuses where the caller's users record has changed, has gone, or has come", async () => {
    const { store, task } = await opened()
    const by = (version: number | undefined): ReadSet => ({ lookups: [], caller: { id: 'alice', version } })
    const write = (version: number, readSet: ReadSet) => store.update(change('t', version, {}, 'tasks', readSet))
    await write(1, by(undefined))
    await store.create(creation('alice', {}, 'users'))
    expect(await failure(write(2, by(undefined))), 'come').to.be.instanceOf(StaleObject)
    await write(2, by(1))
    await store.update(change('alice', 1, { own: 'x' }, 'users'))
    expect(await failure(write(3, by(1))), 'changed').to.be.instanceOf(StaleObject)
    await write(3, by(2))
    await store.delete(removal('alice', 2, 'users'))
    expect(await failure(write(4, by(2))), 'gone').to.be.instanceOf(StaleObject)
    expect((await store.get('tasks', 't'))?.version).to.equal(4)
    expect(await task()).to.deep.equal({})
  })

  it('sees the writes that were asked for before it, also those that commit together with it', async () => {
    const { store, task } = await opened()
    await store.create(membership('m'))
    const [, refused, again, allowed] = await Promise.allSettled([
      store.delete(removal('m', 1, 'projects')),
      store.update(change('t', 1, { count: 1 }, 'tasks', rests(true))),
      store.create(membership('n')),
      store.update(change('t', 1, { count: 2 }, 'tasks', rests(true))),
    ])
    expect((refused as PromiseRejectedResult).reason).to.be.instanceOf(StaleObject)
    expect([again.status, allowed.status]).to.deep.equal(['fulfilled', 'fulfilled'])
    expect(await task()).to.deep.equal({ count: 2 })
  })

  it('creates of a group rest on the users record of their callers each, also on one that is made or deleted in it', async () => {
    const { store, records } = await opened()
    const create = (id: string, caller: ReadSet['caller'], name = 'tasks') => {
      const readSet = { lookups: [], ...(caller && { caller }) }
      return store.create(creation(id, {}, name, readSet), { record: id })
    }
    await Promise.all([create('alice', undefined, 'users'), create('bob', undefined, 'users')])
    const settled = await Promise.allSettled([
      create('of alice', { id: 'alice', version: 1 }),
      create('of another alice', { id: 'alice', version: 2 }),
      create('of nobody', { id: 'nobody', version: undefined }),
      create('of no alice', { id: 'alice', version: undefined }),
      create('carol', { id: 'bob', version: 1 }, 'users'),
      create('of no carol', { id: 'carol', version: undefined }),
      create('dave', { id: 'dave', version: undefined }, 'users'),
      create('erin', { id: 'dave', version: undefined }, 'users'),
      store.delete(removal('bob', 1, 'users')),
      create('of bob', { id: 'bob', version: 1 }),
      create('of carol', { id: 'carol', version: 1 }),
    ])
    const refused = settled.flatMap((one, at) => (one.status === 'rejected' ? [at] : []))
    expect(refused).to.deep.equal([1, 3, 5, 7, 9])
    for (const at of refused) expect((settled[at] as PromiseRejectedResult).reason).to.be.instanceOf(StaleObject)
    const made = ['alice', 'bob', 'of alice', 'of nobody', 'carol', 'dave', 'of carol']
    expect(await records()).to.deep.equal(made)
  })

  it('lets the last write of a group fail where the first takes away what it rests on, however they race', async () => {
    const { store, task } = await opened()
    await store.create(membership('m'))
    const racing = Array.from({ length: 20 }, (_, n) =>
      n === 10
        ? store.delete(removal('m', 1, 'projects')).then(() => 'deleted')
        : store.create(creation(`t${n}`, { count: n }, 'tasks', rests(true))).then(() => 'written'),
    )
    const outcomes = await Promise.allSettled(racing)
    expect(outcomes.slice(0, 10).map(({ status }) => status)).to.deep.equal(Array(10).fill('fulfilled'))
    expect(outcomes.slice(11).map(({ status }) => status)).to.deep.equal(Array(9).fill('rejected'))
    expect(await store.list('tasks', ALL)).to.have.length(11)
    expect(await task()).to.deep.equal({ count: 0 })
  })

  it('deletes an object with all that goes along, or nothing of it', async () => {
    const { store, task, records } = await opened()
    for (const id of ['a', 'b', 'c']) await store.create(creation(id, { count: 1 }, 'tasks'))
    await store.create(membership('m'))
    const going = [
      removal('a', 1, 'tasks'),
      change('b', 1, { count: 2 }, 'tasks', rests(true)),
      removal('m', 1, 'projects'),
    ]
    const stale = [removal('t', 2, 'tasks'), change('c', 2, {}, 'tasks'), removal('c', 1, 'tasks', rests(false))]
    for (const one of stale) {
      const done = store.delete(removal('t', 1, 'tasks'), { along: [...going, one], record: 'refused' })
      expect(await failure(done)).to.be.instanceOf(StaleObject)
    }
    expect(await store.list('tasks', ALL)).to.have.length(4)
    const by = (version: number): ReadSet => ({ lookups: [], caller: { id: 'alice', version } })
    await store.create(creation('alice', {}, 'users'))
    const two = [removal('a', 1, 'tasks', by(1)), removal('b', 1, 'tasks', by(2))]
    expect(await failure(store.delete(removal('t', 1, 'tasks'), { along: two }))).to.be.instanceOf(StaleObject)
    // More than one statement asks at once; the last one fails.
    const many = Array.from({ length: 120 }, (_, n) => ({ lookup: member(`p${n}`), holds: n === 119 }))
    const stopped = store.delete(removal('t', 1, 'tasks'), { along: [removal('a', 1, 'tasks', { lookups: many })] })
    expect(await failure(stopped)).to.be.instanceOf(StaleObject)
    // What one of them rests on goes with another one: all are asked before.
    const time = '2026-11-30T10:00:00.000Z'
    await store.delete(removal('t', 1, 'tasks', rests(true)), { along: going, record: 'deleted', time })
    expect(await task()).to.equal(undefined)
    expect(await store.get('tasks', 'a')).to.equal(undefined)
    expect(await store.get('tasks', 'b')).to.deep.include({ version: 2, updatedAt: time, document: { count: 2 } })
    expect(await store.get('projects', 'm')).to.equal(undefined)
    expect(await records()).to.deep.equal(['deleted'])
  })

  it('would write where nobody asks again: a permit that rests on nothing is written', async () => {
    const { store, task } = await opened()
    await store.update(change('t', 1, { count: 1 }, 'tasks', { lookups: [] }))
    expect(await store.lookup(member('p'))).to.equal(false)
    expect(await task()).to.deep.equal({ count: 1 })
  })
}
