/** Tools read beside a server: the same answers as the server's store, and not a byte written. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { lookUpIn } from '../../src/decide/conditions/lookup.ts'
import { openSqliteReader } from '../../src/store/sqlite/reader.ts'
import { NEW_YEAR } from './engine.ts'
import { field, resource, resourcesOf } from './fixture.ts'
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
    await fc.assert(property, { numRuns: 15, endOnFailure: true })
  }).timeout(60_000)

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
})
