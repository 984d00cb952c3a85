/** Several instances on one PostgreSQL: writes come one after the other, and records in the order of their commits. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Outbox } from '../../src/store/contract.ts'
import { ReplayTaken, StaleObject, StoreUnavailable, UniqueTaken } from '../../src/store/errors.ts'
import { Connections } from '../../src/store/postgres/connections/connections.ts'
import { ALL } from './engine.ts'
import { change, creation, failure, type Opened, RESOURCES, removal } from './fixture.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'
import { INDEXED, RELATED } from './random-related.ts'

const INSTANCES = 4
const now = () => new Date()

describe('instances that share a PostgreSQL', () => {
  let schema: TestSchema
  beforeEach(async () => {
    schema = await createSchema()
  })
  afterEach(() => schema.remove())
  const open = () => schema.open({ resources: RESOURCES, now })
  const openAll = () => Promise.all(Array.from({ length: INSTANCES }, open))

  it('leave records of which a reader misses none, reads none twice, and sees all in the order of the commits', async () => {
    const instances = await openAll()
    const reader = await open()
    let writing = true
    const seen = readAll(reader.outbox, () => writing)
    const written = await Promise.all(instances.map((instance, at) => writeRecords(instance, at)))
    writing = false
    const records = await seen
    expect(records.toSorted()).to.deep.equal(written.flat().toSorted())
    for (const own of written) expect(records.filter((record) => own.includes(record))).to.deep.equal(own)
  })

  it('would miss a record whose number was taken before the commit of a higher one', async () => {
    const { store, outbox } = await open()
    const late = await schema.raw()
    // A writer that doesn't wait for the write lock.
    await late.query(`begin; insert into outbox (record) values ('late')`)
    await store.create(creation('a', {}), { record: 'early' })
    const [early] = await outbox.waiting(10)
    await outbox.shipped(early?.sequence ?? 0)
    await late.query('commit')
    const left = await outbox.waiting(10)
    expect(early?.record).to.equal('early')
    expect(left[0]?.sequence).to.be.below(early?.sequence ?? 0)
  })

  it('judge each of many racing attempts twice at most: nobody makes others write by failing to sign in', async () => {
    const instances = await openAll()
    let judged = 0
    const countUp = ({ attempts }: Opened) => {
      return attempts.count(['a'], (counters) => {
        judged += 1
        const failures = (counters.get('a')?.failures ?? 0) + 1
        return { verdict: failures, changes: new Map([['a', { failures, at: 0, expiresAt: Number.MAX_SAFE_INTEGER }]]) }
      })
    }
    const counted = await Promise.all(
      instances.flatMap((instance) => Array.from({ length: 10 }, () => countUp(instance))),
    )
    expect(counted.toSorted((a, b) => a - b)).to.deep.equal(counted.map((_, n) => n + 1))
    expect(judged).to.equal(2 * counted.length)
  })

  it('tell no transaction as done that PostgreSQL rolled back', async () => {
    const connections = new Connections(schema.url, { most: 4, pooler: 'none' })
    const swallowed = connections.writer.transaction(async (ask) => {
      await ask({ text: 'select 1 / 0', values: [] }).catch(() => undefined)
      return 'done'
    })
    const refused = await failure(swallowed).finally(() => connections.close())
    expect(String(refused)).to.match(/was not committed/)
  })

  it('change one object in the order of its versions, which is the order of the records', async () => {
    const instances = await openAll()
    await instances[0]?.store.create(creation('counter', { count: 0 }))
    const counts = await Promise.all(instances.map(({ store }) => countUp(store, 15)))
    const total = counts.reduce((sum, count) => sum + count, 0)
    const counter = await instances[0]?.store.get('things', 'counter')
    expect(counter?.version).to.equal(total + 1)
    expect(counter?.document).to.deep.equal({ count: total })
    const records = (await instances[0]?.outbox.waiting(1000)) ?? []
    expect(records.map(({ record }) => Number(record))).to.deep.equal(Array.from({ length: total }, (_, n) => n + 1))
  })

  it('let one of them have a unique value, and one have an idempotency key', async () => {
    const instances = await openAll()
    for (let round = 0; round < 5; round += 1) {
      const sameCode = await Promise.allSettled(
        instances.map(({ store }, at) => store.create(creation(`${round}-${at}`, { code: `c${round}` }))),
      )
      expectOneOf(sameCode, UniqueTaken)
      const replay = { subject: 'ann', route: '/things', key: `k${round}`, fingerprint: 'f' }
      const sameKey = await Promise.allSettled(
        instances.map(({ store }, at) => store.create(creation(`k${round}-${at}`, {}), { replay })),
      )
      expectOneOf(sameKey, ReplayTaken)
    }
    expect(await instances[0]?.store.list('things', ALL)).to.have.length(10)
  })

  it('write nothing under a membership whose removal was acknowledged, and nothing after its record', async () => {
    const instances = await Promise.all(
      Array.from({ length: INSTANCES }, () => schema.open({ resources: RELATED, now, indexFields: INDEXED })),
    )
    const [first] = instances
    if (!first) throw new Error('no instance')
    await first.store.create(creation('m', { up: 'p', own: 'alice' }, 'projects'))
    const where = { kind: 'holds', field: 'own', values: ['alice'] } as const
    const rests = { lookups: [{ lookup: { resource: 'projects', by: 'up', values: ['p'], where }, holds: true }] }
    let removed = false
    const late: string[] = []
    const writing = instances.map(async ({ store }, at) => {
      for (let n = 0; ; n += 1) {
        const startedLate = removed
        const id = `${at}-${n}`
        const error = await failureOf(store.create(creation(id, {}, 'tasks', rests), { record: id }))
        if (!error && startedLate) late.push(id)
        if (error) return error
      }
    })
    await sleep(200)
    await first.store.delete(removal('m', 1, 'projects'), { record: 'removed' })
    removed = true
    for (const error of await Promise.all(writing)) expect(error).to.be.instanceOf(StaleObject)
    expect(late).to.deep.equal([])
    const records = (await first.outbox.waiting(10_000)).map(({ record }) => record)
    expect(records.at(-1)).to.equal('removed')
    expect(records.length).to.equal((await first.store.list('tasks', ALL)).length + 1)
  })

  it('hold the outbox one at a time, and another one takes it after a second without renewal', async () => {
    const [one, other] = await openAll()
    if (!one || !other) throw new Error('no instances')
    expect(await one.outbox.hold('one')).to.equal(true)
    for (let n = 0; n < 4; n += 1) {
      expect([await one.outbox.hold('one'), await other.outbox.hold('other')]).to.deep.equal([true, false])
      await sleep(400)
    }
    const taken = await untilHeld(other.outbox, 'other')
    expect(taken).to.be.below(3000)
    expect(await one.outbox.hold('one')).to.equal(false)
    await other.outbox.release('other')
    expect(await one.outbox.hold('one')).to.equal(true)
  })
})

async function writeRecords({ store }: Opened, at: number): Promise<readonly string[]> {
  const records: string[] = []
  for (let group = 0; group < 15; group += 1) {
    const ids = Array.from({ length: 1 + (group % 4) }, (_, n) => `${at}-${group}-${n}`)
    await Promise.all(ids.map((id) => store.create(creation(id, {}), { record: id })))
    records.push(...ids)
  }
  return records
}

/** Reads as the shipper does: some records at a time, which it then forgets. */
async function readAll(outbox: Outbox, more: () => boolean): Promise<readonly string[]> {
  const seen: string[] = []
  for (let last = 0; ; ) {
    const isEnd = !more()
    const waiting = await outbox.waiting(7)
    for (const { sequence, record } of waiting) {
      expect(sequence).to.be.above(last)
      last = sequence
      seen.push(record)
    }
    await outbox.shipped(last)
    if (isEnd && waiting.length === 0) return seen
  }
}

/** Returns how often it won. */
async function countUp(store: Opened['store'], times: number): Promise<number> {
  let won = 0
  for (let n = 0; n < times; n += 1) {
    const found = await store.get('things', 'counter')
    const count = Number(found?.document.count) + 1
    const error = await failureOf(
      store.update(change('counter', found?.version ?? 0, { count }), { record: String(count) }),
    )
    if (!error) won += 1
    else expect(error).to.be.instanceOf(StaleObject)
  }
  return won
}

function expectOneOf(outcomes: readonly PromiseSettledResult<unknown>[], kind: new (...args: never[]) => Error): void {
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(1)
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  for (const reason of reasons) expect(reason).to.be.instanceOf(kind)
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

async function untilHeld(outbox: Outbox, holder: string): Promise<number> {
  const since = performance.now()
  while (!(await outbox.hold(holder))) await sleep(50)
  return performance.now() - since
}

describe('a write on PostgreSQL', () => {
  let schema: TestSchema
  let opened: Opened
  beforeEach(async () => {
    schema = await createSchema()
    opened = await schema.open({ resources: RESOURCES, now })
  })
  afterEach(async () => {
    const raw = await schema.raw()
    await raw.query('drop trigger if exists fault on "objects_things"; drop sequence if exists runs')
    await schema.remove()
  })

  /** The first writes of things fail with this code. */
  async function failWith(code: string, times: number): Promise<void> {
    const raw = await schema.raw()
    await raw.query(`create sequence runs; create or replace function fault() returns trigger language plpgsql as $$ begin
        if nextval('runs') <= ${times} then raise 'a fault' using errcode = '${code}'; end if;
        return new;
      end $$;
      create trigger fault before insert or update on "objects_things" for each row execute function fault()`)
  }

  for (const [name, code] of [
    ['can not be serialized', '40001'],
    ['is part of a deadlock', '40P01'],
  ] as const) {
    it(`that ${name} runs again, and all that wait with it`, async () => {
      await failWith(code, 3)
      const ids = ['a', 'b', 'c', 'd']
      await Promise.all(ids.map((id) => opened.store.create(creation(id, {}), { record: id })))
      expect((await opened.outbox.waiting(10)).map(({ record }) => record)).to.deep.equal(ids)
    })

    it(`that ${name} again and again ends as StoreUnavailable, and the next one is written`, async () => {
      await failWith(code, 8)
      expect(await failure(opened.store.create(creation('a', {})))).to.be.instanceOf(StoreUnavailable)
      await opened.store.create(creation('b', {}))
      expect((await opened.store.list('things', ALL)).map(({ id }) => id)).to.deep.equal(['b'])
    })
  }

  for (const [name, code] of [
    ['a full disk', '53100'],
    ['too many connections', '53300'],
    ['a lock that is not available', '55P03'],
    ['a cancelled statement', '57014'],
    ['a server that shuts down', '57P01'],
    ['a replica', '25006'],
  ] as const) {
    it(`that meets ${name} ends as StoreUnavailable, without values in its cause, and the next one is written`, async () => {
      await failWith(code, 1)
      const error = (await failure(opened.store.create(creation('a', { status: 'secret' })))) as StoreUnavailable
      expect(error).to.be.instanceOf(StoreUnavailable)
      expect(error.cause).to.be.an('error')
      expect(JSON.stringify(error.cause, Object.getOwnPropertyNames(error.cause))).to.not.include('secret')
      await opened.store.create(creation('b', {}))
      expect((await opened.store.list('things', ALL)).map(({ id }) => id)).to.deep.equal(['b'])
    })
  }

  it('that fails alone does not fail those that wait with it', async () => {
    await opened.store.create(creation('a', { code: 'x' }))
    await opened.store.create(creation('b', { code: 'y' }))
    const outcomes = await Promise.allSettled([
      opened.store.create(creation('c', {}), { record: 'c' }),
      opened.store.update(change('b', 1, { code: 'x' }), { record: 'b' }),
      opened.store.create(creation('d', {}), { record: 'd' }),
    ])
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled'])
    expect((outcomes[1] as PromiseRejectedResult).reason).to.be.instanceOf(UniqueTaken)
    expect((await opened.outbox.waiting(10)).map(({ record }) => record)).to.deep.equal(['c', 'd'])
  })

  it('is the victim of a deadlock with another program, and is written then', async () => {
    for (const id of ['a', 'b']) await opened.store.create(creation(id, {}))
    const other = await schema.raw()
    // PostgreSQL ends the one that has waited for a while first: on a busy machine perhaps the other program.
    for (let attempt = 1, isVictim = false; !isVictim; attempt++) {
      expect(attempt, 'the other program was the victim each time').to.be.below(20)
      await other.query(`begin; update "objects_things" set version = version where id = 'b'`)
      const writes = ['a', 'b'].map((id) => opened.store.update(change(id, attempt, { status: 'new' })))
      await sleep(50)
      isVictim = await other.query(`update "objects_things" set version = version where id = 'a'; commit`).then(
        () => true,
        () => false,
      )
      if (!isVictim) await other.query('rollback')
      for (const { version } of await Promise.all(writes)) expect(version).to.equal(attempt + 1)
    }
  })

  it('gives up after seconds if another program locks its object, and others are written', async () => {
    for (const id of ['a', 'b']) await opened.store.create(creation(id, {}))
    const other = await schema.raw()
    await other.query(`begin; update "objects_things" set version = version where id = 'a'`)
    const since = performance.now()
    expect(await failure(opened.store.update(change('a', 1, {})))).to.be.instanceOf(StoreUnavailable)
    expect(performance.now() - since).to.be.within(2000, 60_000)
    await opened.store.update(change('b', 1, {}))
    await other.query('rollback')
    await opened.store.update(change('a', 1, {}))
  })
})
