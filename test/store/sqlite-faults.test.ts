import { open } from 'node:fs/promises'
import { expect } from 'chai'
import { DamagedObject, StoreUnavailable } from '../../src/store/errors.ts'
import { change, creation, failure, removal } from './fixture.ts'
import { Folder } from './folder.ts'

/** https://sqlite.org/rescode.html */
const SQLITE_BUSY = 5
const SQLITE_CORRUPT = 11

describe('an engine that fails', () => {
  const folder = Folder.ofEach()

  it('is unavailable for writes, not for reads, while another process holds the lock; and then it is back', async () => {
    const { store } = await folder.open()
    const created = await store.create(creation('a', {}))
    const other = folder.raw()
    other.exec('begin immediate')
    const error = await failure(store.update(change('a', 1, {})))
    expect(error).to.be.instanceOf(StoreUnavailable)
    expect((error as StoreUnavailable).cause).to.have.property('errcode', SQLITE_BUSY)
    expect(await store.get('things', 'a')).to.deep.equal(created)
    other.exec('rollback')
    expect((await store.update(change('a', 1, {}))).version).to.equal(2)
  })

  it('leaves nothing of an insertion that could not be committed', async () => {
    const { store, seeding } = await folder.open()
    const other = folder.raw()
    other.exec('begin immediate')
    expect(await failure(seeding.insert('things', [{ id: 'a', document: {} }]))).to.be.instanceOf(StoreUnavailable)
    other.exec('rollback')
    await store.create(creation('a', {}))
    expect(await seeding.count('things')).to.equal(1)
  })

  it('is unavailable when a table was taken away under it', async () => {
    const { store } = await folder.open()
    folder.raw().exec('drop table objects_things')
    const calls = [
      () => store.get('things', 'a'),
      store.list('things', { where: { kind: 'always' }, limit: 1 }),
      store.create(creation('a', {})),
      store.update(change('a', 1, {})),
      store.delete(removal('a', 1)),
    ]
    for (const call of calls) expect(await failure(call)).to.be.instanceOf(StoreUnavailable)
    expect(await store.get('Things', 'a')).to.equal(undefined)
  })

  it('is unavailable when the file is damaged, and tells a missing object from one that it cannot read', async () => {
    const { store, seeding } = await folder.open()
    const objects = Array.from({ length: 500 }, (_, index) => ({
      id: `t${index}`,
      document: { extra: 'x'.repeat(500) },
    }))
    await seeding.insert('things', objects)
    await store.close()
    await damage(folder.file)
    const error = await failure(
      folder.open().then(({ store }) => store.list('things', { where: { kind: 'always' }, limit: 500 })),
    )
    expect(error).to.be.instanceOf(StoreUnavailable)
    expect((error as StoreUnavailable).cause).to.have.property('errcode', SQLITE_CORRUPT)
  })

  it('tells a document that is not JSON from an engine that is unavailable', async () => {
    const { store } = await folder.open()
    await store.create(creation('a', {}, 'Things'))
    folder.raw().exec(`update "objects_^Things" set document = '{"ownerId":'`)
    expect(await failure(() => store.get('Things', 'a'))).to.be.instanceOf(DamagedObject)
  })

  it('names the object whose document keeps a list from being looked through', async () => {
    const { store } = await folder.open()
    for (const id of ['a', 'b', 'c']) await store.create(creation(id, { ownerId: 'o' }, 'Things'))
    await store.create(creation('z', {}))
    const where = { kind: 'holds', field: 'ownerId', values: ['o'] } as const
    for (const id of ['b', 'c']) {
      folder.raw().exec(`update "objects_^Things" set document = '{"ownerId":' where id = '${id}'`)
      const related = { kind: 'related', field: 'id', resource: 'Things', by: 'ownerId', where } as const
      for (const look of [
        () => store.list('Things', { where, limit: 9 }),
        () => store.count('Things', { where }),
        () => store.aggregate('Things', { where, by: [], of: [], limit: 1 }),
        () => store.list('things', { where: related, limit: 9 }),
        () => store.lookup({ resource: 'Things', by: 'ownerId', values: ['o'], where: { kind: 'not', of: where } }),
      ]) {
        const error = await failure(look)
        expect(error).to.be.instanceOf(DamagedObject)
        expect(String(error)).to.contain(`\`${id}\``)
      }
      folder.raw().exec(`update "objects_^Things" set document = '{"ownerId":"o"}' where id = '${id}'`)
    }
    expect(await store.list('Things', { where, limit: 9 })).to.have.length(3)
  })
})

/** Overwrites all pages after the first 16: those of the schema stay. */
async function damage(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  const { size } = await handle.stat()
  const start = 16 * 4096
  await handle.write(Buffer.alloc(size - start, 0xff), 0, size - start, start)
  await handle.close()
}
