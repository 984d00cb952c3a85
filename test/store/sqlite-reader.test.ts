/** Tools read beside a server: the same answers as the server's store, and not a byte written. */
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { lookUpIn } from '../../src/decide/conditions/condition.ts'
import { openSqliteReader } from '../../src/store/sqlite/reader/reader.ts'
import { runs } from '../runs.ts'
import { NEW_YEAR } from './engine.ts'
import { creation, field, RESOURCES, removal, resource, resourcesOf } from './fixture.ts'
import { Folder } from './folder.ts'
import { INDEXED, RELATED, randomLookup, randomWorld } from './random-related.ts'

describe('a reader of a database file', () => {
  it('answers lookups as plain code does, whatever is indexed', async () => {
    const lookups = fc.array(randomLookup, { minLength: 10, maxLength: 20, size: 'max' })
    const property = fc.asyncProperty(randomWorld, lookups, fc.boolean(), async (world, asked, indexed) => {
      const folder = await Folder.make()
      const now = () => new Date(NEW_YEAR)
      const { store, seeding } = await folder.open({
        resources: RELATED,
        now,
        ...(indexed && { indexFields: INDEXED }),
      })
      for (const [name, some] of Object.entries(world)) await seeding.insert(name, some)
      await store.close()
      const before = await readFile(folder.file)
      const reader = await openSqliteReader(folder.file)
      const lookUp = lookUpIn((name) => {
        return (world[name] ?? []).map(({ id, document }) => {
          return { id, ...document, createdAt: NEW_YEAR, updatedAt: NEW_YEAR }
        })
      })
      for (const lookup of asked) expect(await reader.lookup(lookup, RELATED)).to.equal(lookUp(lookup))
      await reader.close()
      expect(before.equals(await readFile(folder.file)), 'the same file').to.equal(true)
      await folder.remove()
    })
    await fc.assert(property, { numRuns: runs(15, 5), endOnFailure: true })
  })

  it('finds no object of a resource that the file does not know', async () => {
    const folder = await Folder.make()
    const { store } = await folder.open()
    await store.close()
    const reader = await openSqliteReader(folder.file)
    const resources = resourcesOf(resource('new', [field('id', 'string'), field('ownerId', 'string')]))
    const lookup = { resource: 'new', by: 'id', values: ['a'], where: { kind: 'always' } } as const
    expect(await reader.lookup(lookup, resources)).to.equal(false)
    expect(await reader.lookup({ ...lookup, climb: { field: 'ownerId', depth: 2 } }, resources)).to.equal(false)
    await reader.close()
    await folder.remove()
  })

  it('names the objects that an index holds wrongly', async () => {
    const folder = await Folder.make()
    const { store } = await folder.open()
    for (const id of ['a', 'b', 'c']) await store.create(creation(id, { status: id }))
    await store.delete(removal('a', 1))
    await store.close()
    misindex(folder)
    const reader = await openSqliteReader(folder.file)
    const { faults } = await reader.checkIndexes(THINGS, 100)
    expect([...new Set(faults.map(({ id }) => id))]).to.deep.equal(['b', 'c'])
    expect((await reader.checkIndexes(THINGS, 1)).faults).to.have.length(1)
    expect(faults[0]?.fault).to.match(/^row 1 missing from index objects_things f_status/)
    await reader.close()
    await folder.remove()
  })

  it('says that indexes on a document that is not JSON can not be checked', async () => {
    const folder = await Folder.make()
    const { store } = await folder.open()
    await store.create(creation('a', { status: 'x' }))
    await store.close()
    const database = folder.raw()
    const disk = readFileSync(folder.file)
    database.close()
    const text = '{"status":"x"}'
    await writeFile(folder.file, Buffer.from(disk.toString('latin1').replace(text, text.replace('{', '[')), 'latin1'))
    const reader = await openSqliteReader(folder.file)
    const [row] = await reader.rows(THINGS, { limit: 1 })
    expect(row?.text).to.equal('["status":"x"}')
    const { faults, unchecked } = await reader.checkIndexes(THINGS, 3)
    expect({ faults, unchecked }).to.deep.equal({
      faults: [],
      unchecked: 'a document is not JSON, so its index entries cannot be computed',
    })
    await reader.close()
    await folder.remove()
  })

  it('goes past ids that are no Unicode', async () => {
    const folder = await Folder.make()
    const { store } = await folder.open()
    await store.close()
    const database = folder.raw()
    const columns = '(id, version, created_at, updated_at, document)'
    for (const hex of ['61ff', 'ff', 'fffe', 'efbfbd']) {
      database.exec(`insert into objects_things ${columns} values (cast(x'${hex}' as text), 1, '', '', '{}')`)
    }
    const reader = await openSqliteReader(folder.file)
    const places: string[] = []
    for (;;) {
      const after = places.at(-1)
      const [row] = await reader.rows(THINGS, { limit: 1, ...(after !== undefined && { after }) })
      if (!row || places.length > 4) break
      places.push(row.place)
    }
    expect(places).to.deep.equal(['61FF', 'EFBFBD', 'FF', 'FFFE'])
    await reader.close()
    await folder.remove()
  })

  it('reads what a server writes that is started and stopped after the reader has opened the file', async () => {
    const folder = await Folder.make()
    const first = await folder.open()
    await first.store.create(creation('a', {}))
    await first.store.close()
    const reader = await openSqliteReader(folder.file)
    expect(await reader.count(THINGS)).to.equal(1)
    const second = await folder.open()
    await second.store.create(creation('b', {}))
    expect(await reader.count(THINGS), 'beside the server').to.equal(2)
    await second.store.close()
    const third = await folder.open()
    await third.store.create(creation('c', {}))
    await third.store.close()
    expect(await reader.count(THINGS), 'after the server').to.equal(3)
    await reader.close()
    await folder.remove()
  })
})

const THINGS = RESOURCES.byName.get('things') ?? resource('things', [])

/** The index of `status` keeps what it has, and its column now means another field. */
function misindex(folder: Folder): void {
  const database = folder.raw()
  database.enableDefensive(false)
  database.exec('pragma writable_schema = on')
  database.exec(`update sqlite_schema set sql = replace(sql, '$."status"', '$."other"') where name = 'objects_things'`)
  database.exec('pragma writable_schema = reset')
  database.close()
}
