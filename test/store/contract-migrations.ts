/** The contract: a batch of a migration commits as a whole, and takes no write of a client away. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { StoredObject } from '../../src/resources/object.ts'
import { LeaseLost, UnfitObject } from '../../src/store/errors.ts'
import type { Batch, Changed, Migrations, PlannedChange } from '../../src/store/migrations.ts'
import type { Open } from './engine.ts'
import { change, creation, failure, type Opened, removal } from './fixture.ts'

const [ME, OTHER] = ['a7c1', 'b8d2']
const TIME = '2026-02-02T00:00:00.000Z'
const FIRST = { number: 1, name: '0001-first', digest: 'd1' }

/** Counts up what an object has. */
const counted = ({ document }: Pick<StoredObject, 'document'>): PlannedChange => {
  if (document.department === 'leave') return { kind: 'delete', by: [1] }
  if (document.department === 'keep') return { kind: 'keep' }
  return { kind: 'rewrite', document: { ...document, count: Number(document.count ?? 0) + 1 }, by: [1] }
}

export function describeMigrations(open: Open): void {
  it('changes a batch with its records and its place: new version, new time, the values of columns too', async () => {
    const opened = await begun(open)
    const { store, migrations, outbox } = opened
    await fill(opened, { a: {}, b: { department: 'keep' }, c: { department: 'leave' }, d: { code: 'x', due: TIME } })
    await migrations.change(await batchOf(migrations, { records: ['one', 'two'] }))
    const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((id) => store.get('things', id)))
    expect(a).to.include({ version: 2, updatedAt: TIME })
    expect(a?.createdAt).not.to.equal(TIME)
    expect(a?.document).to.deep.equal({ count: 1 })
    expect(b).to.include({ version: 1 })
    expect(c).to.equal(undefined)
    expect(d?.document).to.deep.equal({ code: 'x', due: TIME, count: 1 })
    expect(await idsWhere(opened, 'count', 1)).to.deep.equal(['a', 'd'])
    expect((await outbox.waiting(9)).map(({ record }) => record)).to.deep.equal(['one', 'two'])
    const [stored] = await migrations.stored()
    expect(stored).to.deep.equal({
      ...FIRST,
      begunAt: TIME,
      endedAt: undefined,
      objects: 3,
      place: { resource: 'things', id: 'd' },
    })
  })

  it('gives the objects by their ids, page by page', async () => {
    const { migrations, ...opened } = await begun(open)
    await fill({ ...opened, migrations }, { b: {}, a: {}, c: {}, ä: {}, 𝒳: {}, '\uffee': {} })
    const pages: string[][] = []
    for (let after: string | undefined; ; ) {
      const page = await migrations.objects('things', after, 2)
      if (page.length === 0) break
      pages.push(page.map(({ id }) => id))
      after = page.at(-1)?.id
    }
    expect(pages).to.deep.equal([
      ['a', 'b'],
      ['c', 'ä'],
      ['\uffee', '𝒳'],
    ])
    expect(await migrations.isEmpty(['things'])).to.equal(false)
    expect(await migrations.isEmpty(['Things'])).to.equal(true)
  })

  it('plans an object again that a client wrote after it was read, and one that is new', async () => {
    const opened = await begun(open)
    const { store, migrations } = opened
    await fill(opened, { a: { count: 1 }, b: { count: 1 }, c: { department: 'keep' }, d: {} })
    const batch = await batchOf(migrations)
    await store.update(change('a', 1, { count: 50 }))
    await store.update(change('c', 1, { count: 7 }))
    await store.delete(removal('d', 1))
    await store.create(creation('aa', { count: 30 }))
    await migrations.change(batch)
    const counts = await Promise.all(['a', 'aa', 'b', 'c', 'd'].map((id) => store.get('things', id)))
    expect(counts.map((one) => one && [one.version, one.document.count])).to.deep.equal([
      [3, 51],
      [2, 31],
      [2, 2],
      [3, 8],
      undefined,
    ])
  })

  it('ends a batch at the object that it names, or at the last one, new ones included', async () => {
    const opened = await begun(open)
    const { store, migrations } = opened
    await fill(opened, { a: {}, b: {}, c: {} })
    const batch = await batchOf(migrations)
    await migrations.change({ ...batch, upTo: 'b', planned: batch.planned.slice(0, 2) })
    expect((await store.get('things', 'c'))?.version).to.equal(1)
    expect((await migrations.stored())[0]?.place?.id).to.equal('b')
    await store.create(creation('d', {}))
    await migrations.change({ ...batch, after: 'b', planned: batch.planned.slice(2) })
    expect((await migrations.stored())[0]?.place?.id).to.equal('d')
    expect((await store.get('things', 'd'))?.version).to.equal(2)
    await migrations.change({ ...batch, after: 'd', planned: [] })
    expect((await migrations.stored())[0]?.place?.id).to.equal('d')
  })

  it('keeps nothing of a batch with an object that can not be planned', async () => {
    const opened = await begun(open)
    const { store, migrations, outbox } = opened
    await fill(opened, { a: {}, b: {} })
    const batch = await batchOf(migrations, { records: ['x'] })
    await store.update(change('b', 1, { count: 3 }))
    const refuse = () => {
      throw new UnfitObject('things', 'b', 'it is odd')
    }
    const error = await failure(migrations.change({ ...batch, plan: refuse }))
    expect(error).to.be.instanceOf(UnfitObject)
    await nothingChanged(opened)
    expect(await outbox.waiting(9)).to.deep.equal([])
  })

  it('keeps nothing of a batch that breaks a unique field, and names the object', async () => {
    const opened = await begun(open)
    const { migrations } = opened
    await fill(opened, { a: {}, b: {}, c: {} })
    const same = (object: StoredObject): PlannedChange => {
      return { kind: 'rewrite', document: { ...object.document, ...(object.id > 'a' ? { code: 'x' } : {}) }, by: [1] }
    }
    const error = await failure(migrations.change(await batchOf(migrations, { plan: same })))
    expect(error).to.be.instanceOf(UnfitObject)
    expect((error as UnfitObject).id).to.equal('c')
    expect((error as UnfitObject).reason).to.contain('unique field `code`')
    await nothingChanged(opened)
  })

  it('ends with the schemas that the data fits, and begins nothing twice', async () => {
    const { migrations } = await begun(open)
    expect(await migrations.fitted()).to.equal(undefined)
    const fitted = { digest: 'f1', schemas: '{"ä":"\\u0000"}' }
    await migrations.end(ME, [1], fitted, TIME)
    await migrations.begin(ME, [FIRST], '2027-01-01T00:00:00.000Z')
    expect(await migrations.stored()).to.deep.equal([
      { ...FIRST, begunAt: TIME, endedAt: TIME, objects: 0, place: undefined },
    ])
    expect(await migrations.fitted()).to.deep.equal(fitted)
    await migrations.noteFitted({ digest: 'f2', schemas: '{}' })
    expect(await migrations.fitted()).to.deep.equal({ digest: 'f2', schemas: '{}' })
  })

  it('lets nobody change without the lease', async () => {
    const { migrations } = await open()
    expect(await failure(migrations.begin(ME, [FIRST], TIME))).to.be.instanceOf(LeaseLost)
    expect(await failure(migrations.end(ME, [1], { digest: '', schemas: '' }, TIME))).to.be.instanceOf(LeaseLost)
    expect(await migrations.stored()).to.deep.equal([])
  })
}

export function describeSharedMigrations(open: Open): void {
  it('lets one process migrate, until it releases the lease or is silent; whoever lost it changes nothing', async () => {
    const opened = await begun(open)
    const { migrations } = opened
    await fill(opened, { a: {} })
    const batch = await batchOf(migrations)
    const other = await open()
    expect(await other.migrations.hold(OTHER)).to.equal(false)
    while (!(await other.migrations.hold(OTHER))) await sleep(50)
    expect(await failure(migrations.change(batch))).to.be.instanceOf(LeaseLost)
    await nothingChanged(opened)
    await other.migrations.release(OTHER)
    while (!(await migrations.hold(ME))) await sleep(50)
    await migrations.change(batch)
  })
}

async function begun(open: Open): Promise<Opened> {
  const opened = await open()
  expect(await opened.migrations.hold(ME)).to.equal(true)
  await opened.migrations.begin(ME, [FIRST], TIME)
  return opened
}

async function fill({ store }: Opened, objects: Readonly<Record<string, StoredObject['document']>>): Promise<void> {
  for (const [id, document] of Object.entries(objects)) await store.create(creation(id, document))
}

interface BatchOptions {
  readonly records?: readonly string[]
  readonly plan?: Batch['plan']
}

async function batchOf(migrations: Migrations, { records = [], plan = counted }: BatchOptions = {}): Promise<Batch> {
  const objects = await migrations.objects('things', undefined, 100)
  return {
    holder: ME,
    resource: 'things',
    after: undefined,
    upTo: undefined,
    planned: objects.map((object) => ({ object, change: plan(object) })),
    plan,
    time: TIME,
    end: (changed: readonly Changed[]) => ({ records, reached: [{ number: 1, objects: changed.length }] }),
  }
}

async function nothingChanged({ store, migrations }: Opened): Promise<void> {
  expect((await store.get('things', 'a'))?.version).to.equal(1)
  expect((await migrations.stored())[0]?.place).to.equal(undefined)
}

async function idsWhere({ store }: Opened, field: string, value: number): Promise<readonly string[]> {
  const found = await store.list('things', { where: { kind: 'holds', field, values: [value] }, limit: 10 })
  return found.map(({ id }) => id)
}
