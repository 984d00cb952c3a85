/** What an entity tag is made of: anything else makes another tag, and nothing of it can be read from the tag. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Representation } from '../../src/resources/resource.ts'
import { EntityTags, type Item, stateOfTag } from '../../src/server/routes/entity-tag.ts'

const tags = new EntityTags(new Uint8Array(32).fill(1))

const few = fc.constantFrom('a', 'b', 'a,b', '')

const item: fc.Arbitrary<Item> = fc
  .record({ resource: few, id: few, version: fc.integer({ min: 1, max: 3 }), updatedAt: few })
  .map(({ resource, ...object }) => ({ resource, object: { ...object, createdAt: '', document: {} } }))

const shown = fc.uniqueArray(fc.constantFrom('id', 'a', 'b', 'ab', 'a","b')).map((names) => {
  return Object.fromEntries(names.map((name) => [name, 1]))
})

describe('the parts of an entity tag', () => {
  it('a state has one mark: the same for the same object, version and time, another for any other', () => {
    fc.assert(
      fc.property(item, item, (a, b) => {
        expect(tags.stateOf(a) === tags.stateOf(b)).to.equal(JSON.stringify(a) === JSON.stringify(b))
      }),
    )
  })

  it('each part counts alone: resource, id, version and time', () => {
    const object = { id: 'a', version: 1, updatedAt: 'now', createdAt: '', document: {} }
    const items: readonly Item[] = [
      { resource: 'notes', object },
      { resource: 'orders', object },
      { resource: 'notes', object: { ...object, id: 'b' } },
      { resource: 'notes', object: { ...object, version: 2 } },
      { resource: 'notes', object: { ...object, updatedAt: 'later' } },
    ]
    expect(new Set(items.map((one) => tags.stateOf(one))).size).to.equal(items.length)
  })

  it('a tag is one of state and fields: it differs when either does, and always tells the state', () => {
    fc.assert(
      fc.property(item, item, shown, shown, (a, b, some, others) => {
        const same = JSON.stringify([a, some]) === JSON.stringify([b, others])
        expect(tags.opaqueOf(a, some) === tags.opaqueOf(b, others)).to.equal(same)
        expect(stateOfTag(tags.opaqueOf(a, some))).to.equal(tags.stateOf(a))
      }),
    )
  })

  it('the text of an object and its tag are those of the fields that are asked for now', () => {
    const kept = new EntityTags(new Uint8Array(32).fill(1))
    const whole: Representation = { id: '1', a: 1, b: 2, ab: 3 }
    const items = [1, 2].map((version) => ({
      resource: 'notes',
      object: { id: '1', version, createdAt: '', updatedAt: '', document: {} },
    }))
    const asked = fc.tuple(fc.constantFrom(...items), fc.uniqueArray(fc.constantFrom(...Object.keys(whole))))
    fc.assert(
      fc.property(asked, ([one, names]) => {
        const part = Object.fromEntries(Object.entries(whole).filter(([name]) => names.includes(name)))
        const { opaque, body } = kept.textOf(one, new Set(names), part)
        expect(body.text).to.equal(JSON.stringify(part))
        expect(opaque).to.equal(tags.opaqueOf(one, part))
      }),
    )
  })

  it('the text of an object is written once for the same fields', () => {
    const one: Item = { resource: 'notes', object: { id: '1', version: 1, createdAt: '', updatedAt: '', document: {} } }
    const first = tags.textOf(one, new Set(['id', 'a']), { id: '1', a: 1 })
    expect(tags.textOf(one, new Set(['a', 'id']), { id: '1', a: 1 })).to.equal(first)
    expect(tags.textOf({ ...one, object: { ...one.object } }, new Set(['id', 'a']), { id: '1', a: 1 })).not.to.equal(
      first,
    )
  })

  it('says nothing without the key, and is opaque: 24 characters, whatever it is of', () => {
    fc.assert(
      fc.property(item, shown, (one, fields) => {
        expect(tags.of(one, fields)).to.match(/^"[\w-]{24}"$/)
        expect(new EntityTags(new Uint8Array(32)).stateOf(one)).to.not.equal(tags.stateOf(one))
      }),
    )
  })

  it('what this server never gave has no state', () => {
    for (const text of ['', 'x', 'x'.repeat(23), 'x'.repeat(25)]) expect(stateOfTag(text)).to.equal(undefined)
  })
})
