/** The contract: a unique field's value belongs to one object. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Document } from '../../src/resources/object.ts'
import { UniqueTaken } from '../../src/store/errors.ts'
import { runs } from '../runs.ts'
import { ALL, type Open, type TestDatabase } from './engine.ts'
import { change, creation, failure, field, removal, resource, resourcesOf } from './fixture.ts'

/** Declared in another order than that of their names. */
const FIELDS = ['c', 'a', 'b'] as const
const itemsWith = (...names: readonly string[]) => {
  const fields = names.map((name) => field(name, 'string', { unique: true }))
  return { resources: resourcesOf(resource('items', fields)), now: () => new Date() }
}

const EIGHT = [...'abcdefgh']
const eightTogether = () =>
  resourcesOf({
    ...resource(
      'items',
      EIGHT.map((name) => field(name, 'string')),
    ),
    uniqueTogether: [EIGHT],
  })

/** What other objects have already, in the order of the contract. */
function taken(id: string, document: Document, others: ReadonlyMap<string, Document>): readonly string[] {
  const documents = [...others].filter(([other]) => other !== id).map(([, one]) => one)
  return FIELDS.filter((name) => name in document && documents.some((one) => one[name] === document[name]))
}

export function describeUniqueFields(open: Open, database: () => TestDatabase): void {
  it('names the first of several taken values: the id, then the fields in the order of the schema', async () => {
    const value = fc.constantFrom('x', 'y', 'z', 1, true)
    const document = fc.record({ a: value, b: value, c: value }, { requiredKeys: [] })
    const write = fc.record({ id: fc.constantFrom('t1', 't2', 't3', 't4'), document, creates: fc.boolean() })
    // The indexes have another order, too.
    await (await database().open(itemsWith('a'))).store.close()
    const { store } = await database().open(itemsWith(...FIELDS))
    const [stored, versions] = [new Map<string, Document>(), new Map<string, number>()]
    let several = 0
    const property = fc.asyncProperty(write, async ({ id, document: written, creates }) => {
      const version = versions.get(id)
      const isNew = creates || version === undefined
      const all = [...(isNew && version !== undefined ? ['id'] : []), ...taken(id, written, stored)]
      const done = isNew
        ? store.create(creation(id, written, 'items'))
        : store.update(change(id, version, written, 'items'))
      if (all.length > 1) several += 1
      if (all.length > 0) {
        expect(await failure(done)).to.have.property('field', all[0])
      } else {
        versions.set(id, (await done).version)
        stored.set(id, written)
      }
    })
    await fc.assert(property, { numRuns: runs(300, 100), endOnFailure: true })
    // Without these, the order would not have been asked for.
    expect(several).to.be.greaterThan(4)
  })

  it('refuses a taken value of a unique field, by create and by update, and names the field', async () => {
    const { store } = await open()
    await store.create(creation('t1', { code: 'x' }))
    await store.create(creation('t2', { code: 'y' }))
    for (const write of [store.create(creation('t3', { code: 'x' })), store.update(change('t2', 1, { code: 'x' }))]) {
      const error = await failure(write)
      expect(error).to.be.instanceOf(UniqueTaken)
      expect((error as UniqueTaken).field).to.equal('code')
    }
    expect(await store.get('things', 't3')).to.equal(undefined)
    expect((await store.get('things', 't2'))?.document).to.deep.equal({ code: 'y' })
  })

  it('refuses the values that fields have together, where an object has all of them, and names the fields', async () => {
    const { resources, now } = itemsWith('c')
    const items = resources.byName.get('items')
    const together = resourcesOf({
      ...resource('items', [...(items?.fields.values() ?? []), field('tenant', 'string'), field('name', 'integer')]),
      uniqueTogether: [['tenant', 'name']],
    })
    const { store, seeding } = await database().open({ resources: together, now })
    await store.create(creation('t1', { tenant: 'a', name: 1 }, 'items'))
    for (const document of [
      { tenant: 'a' },
      { tenant: 'a' },
      { name: 1 },
      { tenant: 'b', name: 1 },
      { tenant: 'a', name: 2 },
    ])
      await store.create(creation(`t-${JSON.stringify(document)}-${Math.random()}`, document, 'items'))
    await store.create(creation('t2', { tenant: null, name: 1 }, 'items'))
    const taken = { tenant: 'a', name: 1, c: 'x' }
    for (const write of [store.create(creation('t3', taken, 'items')), store.update(change('t2', 1, taken, 'items'))]) {
      const error = await failure(write)
      expect(error).to.be.instanceOf(UniqueTaken)
      expect((error as UniqueTaken).fields).to.deep.equal(['tenant', 'name'])
    }
    await store.update(change('t1', 1, { ...taken, c: 'y' }, 'items'))
    // The field by itself comes first.
    const both = await failure(store.create(creation('t4', { tenant: 'a', name: 1, c: 'y' }, 'items')))
    expect((both as UniqueTaken).field).to.equal('c')
    expect(await failure(seeding.insert('items', [{ id: 't5', document: taken }]))).to.be.instanceOf(UniqueTaken)
    await store.delete(removal('t1', 2, 'items'))
    await store.create(creation('t6', taken, 'items'))
  })

  it('compares as many fields together as a schema may list, and texts of any length and content', async () => {
    const { store } = await database().open({ resources: eightTogether(), now: () => new Date() })
    // Texts that don't get short when they are compressed, with what engines write in their own way.
    const noise = () => randomBytes(1500).toString('latin1')
    const document = Object.fromEntries(EIGHT.map((name) => [name, `\\\0\\000\\n'${noise()}`]))
    await store.create(creation('t1', document, 'items'))
    await store.create(creation('t2', { ...document, h: document.h?.replace('\\000', '\\001') ?? null }, 'items'))
    const another = { ...document, a: 'short' }
    await store.create(creation('t3', another, 'items'))
    for (const write of [
      () => store.create(creation('t4', document, 'items')),
      () => store.update(change('t3', 1, document, 'items')),
    ]) {
      const error = await failure(write())
      expect(error).to.be.instanceOf(UniqueTaken)
      expect((error as UniqueTaken).fields).to.deep.equal(EIGHT)
    }
    await store.delete(removal('t1', 1, 'items'))
    await store.update(change('t3', 1, document, 'items'))
  })

  it('refuses a taken id the same way', async () => {
    const { store } = await open()
    await store.create(creation('t1', {}))
    const error = await failure(store.create(creation('t1', {})))
    expect(error).to.be.instanceOf(UniqueTaken)
    expect((error as UniqueTaken).field).to.equal('id')
  })

  it('takes absent and null values, values of other types and other fields for different', async () => {
    const { store } = await open()
    const documents = [
      {},
      {},
      { code: null },
      { code: null },
      { code: '1' },
      { code: 1 },
      { code: true },
      { code: 'A' },
    ]
    for (const [index, document] of [...documents, { code: 'a' }, { status: 'a' }].entries()) {
      await store.create(creation(`t${index}`, document))
    }
    expect(await store.list('things', ALL)).to.have.length(10)
  })

  it('frees a value with its object, and lets an object keep its own', async () => {
    const { store } = await open()
    await store.create(creation('t1', { code: 'x' }))
    await store.update(change('t1', 1, { code: 'x', status: 'open' }))
    await store.delete(removal('t1', 2))
    await store.create(creation('t2', { code: 'x' }))
  })

  it('lets exactly one of 50 racing creates have a unique value', async () => {
    const { store } = await open()
    const racing = Array.from({ length: 50 }, (_, index) => store.create(creation(`t${index}`, { code: 'x' })))
    const outcomes = await Promise.allSettled(racing)
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).to.have.length(1)
    expect(await store.list('things', ALL)).to.have.length(1)
  })
}

export function describeUniqueTogetherAtOpening(database: () => TestDatabase): void {
  it('opens no database whose objects share what is declared unique together, and names the fields', async () => {
    const now = () => new Date()
    const loose = resourcesOf(resource('items', [field('a', 'string'), field('b', 'string')]))
    const { store } = await database().open({ resources: loose, now })
    for (const id of ['t1', 't2']) await store.create(creation(id, { a: 'x', b: 'y' }, 'items'))
    await store.close()
    const items = loose.byName.get('items')
    if (!items) throw new Error('no resource')
    const strict = resourcesOf({ ...items, uniqueTogether: [['a', 'b']] })
    const error = await failure(database().open({ resources: strict, now }))
    expect((error as Error).message).to.match(/`a\+b` of `items` is declared unique/)
  })
}
