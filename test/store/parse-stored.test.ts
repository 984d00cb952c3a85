/** A kept object stands for a row only while every column of the row is the same. */
import { expect } from 'chai'
import fc from 'fast-check'
import { DamagedObject } from '../../src/store/errors.ts'
import { type ObjectRow, ParsedObjects, parsedObject } from '../../src/store/parse-stored.ts'
import { runs } from '../runs.ts'

const ROW: ObjectRow = { id: 'a', version: 1, createdAt: 'then', updatedAt: 'then', text: '{"title":"A"}' }

const few = fc.constantFrom('a', 'b')

const asked = fc.record({
  resource: few,
  row: fc.record<ObjectRow>({
    id: few,
    version: fc.integer({ min: 1, max: 2 }),
    createdAt: few,
    updatedAt: few,
    text: fc.constantFrom('{}', '{"title":"A"}', '{"title":"B"}', `{"title":"${'x'.repeat(5000)}"}`),
  }),
})

describe('objects that were parsed before', () => {
  it('are what their rows say now, whatever was read before', () => {
    fc.assert(
      fc.property(fc.array(asked, { maxLength: 40 }), (all) => {
        const objects = new ParsedObjects()
        for (const { resource, row } of all) expect(objects.of(resource, row)).to.deep.equal(parsedObject(row))
      }),
      { numRuns: runs(300) },
    )
  })

  it('are the same object while the row has the same content, and another one otherwise', () => {
    const objects = new ParsedObjects()
    const first = objects.of('notes', ROW)
    expect(objects.of('notes', { ...ROW })).to.equal(first)
    for (const other of [{ version: 2 }, { createdAt: 'now' }, { updatedAt: 'now' }, { text: '{"title":"B"}' }]) {
      expect(objects.of('notes', { ...ROW, ...other })).to.not.equal(first)
      expect(objects.of('notes', ROW)).to.deep.equal(first)
    }
    expect(objects.of('orders', ROW)).to.not.equal(objects.of('notes', ROW))
  })

  it('leave room for others: a long document is parsed each time, and of many rows the oldest is forgotten', () => {
    const objects = new ParsedObjects()
    const long = { ...ROW, text: JSON.stringify({ title: 'x'.repeat(5000) }) }
    expect(objects.of('notes', long)).to.not.equal(objects.of('notes', long))
    const first = objects.of('notes', ROW)
    for (let i = 0; i < 2000; i++) objects.of('notes', { ...ROW, id: `other ${i}` })
    expect(objects.of('notes', ROW)).to.not.equal(first)
  })

  it('a row that was damaged since is refused', () => {
    const objects = new ParsedObjects()
    objects.of('notes', ROW)
    for (const text of ['{', '[]', '']) {
      expect(() => objects.of('notes', { ...ROW, text })).to.throw(DamagedObject)
    }
  })
})
