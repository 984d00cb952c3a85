/** A page's text is made of its rows alone, whoever had the same rows written before. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { ListedObject } from '../../src/store/contract.ts'
import { JsonRow, type PageForm, rowWriter, writtenPage } from '../../src/store/lists/json-row.ts'
import { runs } from '../runs.ts'

const TIME = '2026-01-01T00:00:00.000Z'
const FIELDS = ['id', 'title', 'size'].map((name) => new Set([name, 'createdAt']))

/** Of rows whose titles have different sizes, so that bytes end some pages early. */
const rowsOf = (sizes: readonly number[]): ListedObject[] =>
  sizes.map((size, at) => new JsonRow(`n${at}`, TIME, TIME, JSON.stringify({ title: 'x'.repeat(size), size })))

const form = fc.record<PageForm>({
  limit: fc.integer({ min: 1, max: 6 }),
  bytes: fc.constantFrom(200, 500, 5000),
  alike: fc.constantFrom(...FIELDS),
})
const asked = fc.tuple(fc.array(fc.integer({ max: 300, min: 0 }), { maxLength: 7 }), fc.array(form, { maxLength: 8 }))

const write = (rows: readonly ListedObject[], one: PageForm) =>
  writtenPage(rows, one, () => rowWriter({ kind: 'alike', fields: one.alike ?? new Set() }))

describe('the written page of a list', () => {
  it('is the same for rows that are given again as for rows that were never written', () => {
    fc.assert(
      fc.property(asked, ([sizes, forms]) => {
        const again = Object.freeze(rowsOf(sizes))
        for (const one of forms) {
          const { text, hasNext, last } = write(rowsOf(sizes), one)
          const kept = write(again, one)
          expect([kept.text, kept.hasNext, kept.last?.id]).to.deep.equal([text, hasNext, last?.id])
        }
      }),
      { numRuns: runs(200) },
    )
  })

  it('differs by the fields and the size that are asked for', () => {
    const rows = Object.freeze(rowsOf([5, 5]))
    const [first, other] = FIELDS.map((alike) => write(rows, { limit: 5, bytes: 5000, alike }).text)
    expect(first).to.not.equal(other)
    expect(write(rows, { limit: 1, bytes: 5000, alike: FIELDS[0] }).hasNext).to.equal(true)
  })

  it('is written once for frozen rows, and each time for others', () => {
    const one: PageForm = { limit: 5, bytes: 5000, alike: FIELDS[0] }
    const counted = (rows: readonly ListedObject[]) => {
      let writers = 0
      for (const _ of [1, 2, 3]) {
        writtenPage(rows, one, () => {
          writers += 1
          return rowWriter({ kind: 'alike', fields: FIELDS[0] ?? new Set() })
        })
      }
      return writers
    }
    expect([counted(Object.freeze(rowsOf([1, 2]))), counted(rowsOf([1, 2]))]).to.deep.equal([1, 3])
  })

  it('is never kept where more than the fields decides what a row shows', () => {
    const rows = Object.freeze(rowsOf([1]))
    const written = ['A', 'B'].map((letter) => {
      return writtenPage(rows, { limit: 5, bytes: 5000, alike: undefined }, () => () => letter).text
    })
    expect(written).to.deep.equal(['A', 'B'])
  })
})
