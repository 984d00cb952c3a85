/** Reads that share a transaction: they see one state, and leave no transaction behind, however they end. */
import type { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { creation, type Opened } from './fixture.ts'
import { Folder } from './folder.ts'

describe('reads of SQLite at once', () => {
  const folder = Folder.ofEach()
  let opened: Opened
  let other: DatabaseSync
  beforeEach(async () => {
    opened = await folder.open()
    await opened.store.create(creation('a', { status: 'draft' }))
    other = folder.raw()
  })

  const statusOf = () => (opened.store.get('things', 'a') as { readonly document: unknown }).document
  const write = (status: string) =>
    other.prepare(`update objects_things set document = ? where id = 'a'`).run(JSON.stringify({ status }))

  it('see one state, and the next ones see what others wrote meanwhile', () => {
    const seen = opened.store.inOneReadTransaction(() => {
      const before = statusOf()
      write('sent')
      return [before, opened.store.inOneReadTransaction(statusOf), statusOf()]
    })
    expect(seen).to.deep.equal(Array(3).fill({ status: 'draft' }))
    expect(statusOf()).to.deep.equal({ status: 'sent' })
  })

  it('would each see a state of its own otherwise', () => {
    const before = statusOf()
    write('sent')
    expect(statusOf()).to.not.deep.equal(before)
  })

  it('leave the way free for writes, also after a fault', async () => {
    expect(() => opened.store.inOneReadTransaction(() => opened.store.get('unknown', 'a'))).to.throw('no resource')
    await opened.store.create(creation('b', {}))
    await opened.store.inOneReadTransaction(() => opened.store.list('things', { where: { kind: 'always' }, limit: 9 }))
    await opened.store.create(creation('c', {}))
    expect(await opened.seeding.count('things')).to.equal(3)
  })
  it('tell in words of the contract that the database is closed', async () => {
    await opened.store.close()
    expect(() => opened.store.inOneReadTransaction(statusOf)).to.throw(StoreUnavailable)
  })
})
