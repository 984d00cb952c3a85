/** Whatever a name or a text holds, it stays one name or one text in a statement. */
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import fc from 'fast-check'
import { quoteLiteral, quoteName } from '../../src/store/sql/statement.ts'
import { parameters } from '../../src/store/sqlite/query/condition.ts'

/** Node hands SQLite a statement up to the first NUL, so one that holds it is refused; a schema's names are well-formed. */
const written = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom('"', "'", ';', '--', '?', '\\', '\n', '%', ']'),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    ),
  })
  .filter((text) => !text.includes('\0') && text.isWellFormed())

describe('the text of a statement', () => {
  let database: DatabaseSync
  before(() => {
    database = new DatabaseSync(':memory:')
  })
  after(() => database.close())

  const comesBack = (quote: (text: string) => string) =>
    fc.property(written, (text) => {
      expect(database.prepare(`select ${quote(text)} as it`).get()).to.deep.equal({ __proto__: null, it: text })
    })

  const namesItself = (quote: (name: string) => string) =>
    fc.property(written, (name) => {
      const row = database.prepare(`select ${quote(name)} from (select 1 as ${quote(name)})`).get()
      expect(Object.entries(row ?? {})).to.deep.equal([[name, 1]])
    })

  it('holds any text as it is', () => fc.assert(comesBack(quoteLiteral), { numRuns: 500 }))

  it('holds any name as it is', () => fc.assert(namesItself(quoteName), { numRuns: 500 }))

  it('would be broken by a quote that is not doubled', () => {
    expect(
      fc.check(
        comesBack((text) => `'${text}'`),
        { seed: 1, numRuns: 500, endOnFailure: true },
      ).failed,
    ).to.equal(true)
    expect(
      fc.check(
        namesItself((name) => `"${name}"`),
        { numRuns: 500, endOnFailure: true },
      ).failed,
    ).to.equal(true)
  })

  it('is refused where it holds NUL, and does not end there', () => {
    expect(() => database.prepare(`select ${quoteLiteral('a\0b')}`).get()).to.throw()
    expect(() => database.prepare(`select ${quoteName('a\0b')} from (select 1 as a)`).get()).to.throw()
  })

  it('has as many parameters as values', () => {
    const values = ['a', 'b', null]
    const row = database
      .prepare(`select json_array(${parameters(values, { bind: () => '?' })}) as all_of_them`)
      .get(...values)
    expect(row?.all_of_them).to.equal('["a","b",null]')
  })
})
