/** Keys and stored texts: PostgreSQL can keep them, their order is that of the values, and nothing is lost. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Scalar } from '../../src/resources/object.ts'
import { BY_ID } from '../../src/store/lists/selection.ts'
import { compareSortValues } from '../../src/store/lists/sort-value.ts'
import { keyOf, keysOf } from '../../src/store/postgres/layout/keys.ts'
import { decodeText, encodeText, indexedText, nameOf } from '../../src/store/postgres/stored-text.ts'
import { ANY_CHARACTER } from '../any-character.ts'
import { ALL } from './engine.ts'
import { change, creation, failure, RESOURCES } from './fixture.ts'
import { createSchema } from './postgres-schemas.ts'

const unit = fc.oneof(
  fc.constantFrom('\0', '\u0001', '\u0002', '\u0003', 'a', '\ud800', '\udc00', '\uffff', '😀', '0'),
  fc.string({ unit: ANY_CHARACTER, minLength: 1, maxLength: 1 }),
)
const anyText = fc.string({ unit, maxLength: 12 })
const wellFormedText = anyText.filter((text) => text.isWellFormed())
const number = fc.oneof(
  fc.double({ noNaN: true }),
  fc.constantFrom(0, -0, 1, -1, 5e-324, -5e-324, 1e308, -1e308, 2 ** 53, 0.1, 0.2, 0.3),
)
const scalar: fc.Arbitrary<Scalar> = fc.oneof(number, wellFormedText, fc.boolean())

/** Around the length at which keys are cut, and with ends of every width. */
const longText = fc
  .tuple(fc.integer({ min: 694, max: 702 }), fc.string({ unit, maxLength: 4 }))
  .map(([length, end]) => 'x'.repeat(length) + end)
  .filter((text) => text.isWellFormed())

const compareTexts = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))

describe('texts in PostgreSQL', () => {
  it('come back as they were, and have no NUL and no lone surrogate', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const encoded = encodeText(text)
        expect(encoded.includes('\0')).to.equal(false)
        expect(encoded.isWellFormed()).to.equal(true)
        expect(decodeText(encoded)).to.equal(text)
      }),
      { numRuns: 2000 },
    )
  })

  it('would differ if the escape itself were not escaped', () => {
    const careless = (text: string) => decodeText(text.replaceAll('\0', '\u0001\u0001'))
    const property = fc.property(wellFormedText, (text) => careless(text) === text)
    expect(fc.check(property, { numRuns: 2000 }).failed).to.equal(true)
  })

  it('of any length have keys that an index can hold, different for different texts', () => {
    const long = 'é'.repeat(400)
    const texts = [long, `${long}a`, `${long}b`, 'x'.repeat(1_000_000), `${'x'.repeat(1_000_000)}y`, 'x'.repeat(700)]
    const keys = texts.map((text) => indexedText(text).indexable)
    for (const key of keys) expect(Buffer.byteLength(key)).to.be.at.most(760)
    expect(new Set(keys).size).to.equal(texts.length)
  })

  it('of any length have keys in their order, but for those that begin alike, which stand together', () => {
    const bounds = (text: string) => {
      const { indexable, beginning } = indexedText(text)
      return beginning === undefined ? [indexable, indexable] : [beginning, `${beginning}~`]
    }
    fc.assert(
      fc.property(longText, longText, (one, other) => {
        const [[first = '', last = ''], key] = [bounds(one), indexedText(other).indexable]
        const compared = Math.sign(compareTexts(encodeText(other), encodeText(one)))
        if (compareTexts(key, first) < 0) expect(compared).to.equal(-1)
        else if (compareTexts(key, last) > 0) expect(compared).to.equal(1)
        else expect(indexedText(other).beginning).to.equal(indexedText(one).beginning)
      }),
      { numRuns: 3000 },
    )
  })

  it('would stand in the wrong order by their hashes alone', () => {
    const property = fc.property(longText, longText, (one, other) => {
      const keys = [one, other].map((text) => indexedText(text).indexable) as [string, string]
      return Math.sign(compareTexts(...keys)) === Math.sign(compareTexts(encodeText(one), encodeText(other)))
    })
    expect(fc.check(property, { numRuns: 3000 }).failed).to.equal(true)
  })

  it('have names of at most 63 bytes, different for different texts', () => {
    const long = ['a', 'b', 'c'].map((end) => nameOf(`${'ü'.repeat(40)}${end}`))
    for (const name of long) expect(Buffer.byteLength(name)).to.be.at.most(63)
    expect(new Set(long).size).to.equal(3)
  })
})

describe('keys in PostgreSQL', () => {
  it('have the order of the values, and are equal exactly when these are', () => {
    fc.assert(
      fc.property(scalar, scalar, (one, other) => {
        const compared = compareTexts(keyOf(one), keyOf(other))
        expect(Math.sign(compared)).to.equal(Math.sign(compareSortValues(one, other)))
      }),
      { numRuns: 5000 },
    )
  })

  it('would not have the order of numbers without the sign being turned over', () => {
    const careless = (value: number) => {
      const bytes = new DataView(new ArrayBuffer(8))
      bytes.setFloat64(0, value)
      return bytes.getBigUint64(0).toString(16).padStart(16, '0')
    }
    expect(compareTexts(careless(-1), careless(1))).to.be.above(0)
    expect(compareTexts(keyOf(-1), keyOf(1))).to.be.below(0)
  })

  it('of a document name all its fields with a value', () => {
    const { keys, times } = keysOf('2026-01-01T00:00:00Z', {
      a: 'x',
      list: [1, null, ['y'], '2026-01-01T01:00:00+01:00'],
      none: null,
      object: { a: 1 },
    })
    expect(JSON.parse(keys)).to.deep.equal({ a: ['2x'], list: ['5', keyOf(1), '22026-01-01T01:00:00+01:00'] })
    const instant = '2026-01-01T00:00:00.000Z'
    expect(JSON.parse(times)).to.deep.equal({ list: [null, instant], id: [instant] })
  })
})

describe('large values in PostgreSQL', () => {
  it('are kept, found and unique, whatever their length', async () => {
    const schema = await createSchema()
    const { store } = await schema.open({ resources: RESOURCES, now: () => new Date() })
    const long = 'long '.repeat(50_000)
    await store.create(creation('a', { ownerId: long, status: long, code: long, tags: [long] }))
    await store.create(creation('b', { ownerId: `${long}!`, code: `${long}!` }))
    for (const field of ['ownerId', 'code', 'tags']) {
      const where = { kind: 'holds', field, values: [long] } as const
      expect((await store.list('things', { ...ALL, where })).map(({ id }) => id)).to.deep.equal(['a'])
    }
    expect(await failure(store.create(creation('c', { code: long })))).to.have.property('field', 'code')
    expect(await failure(store.update(change('b', 1, { code: long })))).to.have.property('field', 'code')
    expect((await store.get('things', 'a'))?.document.ownerId).to.equal(long)
    await schema.remove()
  })

  it('are kept however deep they are', async () => {
    const schema = await createSchema()
    const { store } = await schema.open({ resources: RESOURCES, now: () => new Date() })
    let deep: unknown = 1
    for (let n = 0; n < 5000; n += 1) deep = [deep]
    const long = 'long '.repeat(200)
    for (const id of ['other', 'deep']) await store.create(creation(id, { extra: deep as never, status: long }))
    const order = [{ field: 'status', by: 'value', descending: false } as const, ...BY_ID]
    expect((await store.list('things', { ...ALL, order })).map(({ id }) => id)).to.deep.equal(['deep', 'other'])
    expect(JSON.stringify((await store.get('things', 'deep'))?.document.extra)).to.equal(JSON.stringify(deep))
    await schema.remove()
  })
})
