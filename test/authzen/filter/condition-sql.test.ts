/** A condition in SQL finds the rows of a plain table whose objects meet it: on a real PostgreSQL and a real SQLite. */

import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { type Condition, lookUpIn, meets } from '../../../src/decide/conditions/condition.ts'
import type { Representation } from '../../../src/resources/resource.ts'
import { type Sql, sqlOfCondition, Unsupported } from '../../../src/server/authzen/filter/condition-sql.ts'
import { fitTypes, readMapping } from '../../../src/server/authzen/filter/read-mapping.ts'
import { runs } from '../../runs.ts'
import { type ForeignDatabase, openForeignPostgres, openForeignSqlite } from './plain-tables.ts'
import { randomCondition, randomRelatedCondition } from './typed-conditions.ts'
import { describedTables, ITEMS, named, sampleRows, tableOf } from './typed-rows.ts'

const ITEM_IDS = ['o1', 'o2', 'o3', ...Array.from({ length: 40 }, (_, i) => `i${i}`)]
const OTHER_IDS = ['o1', 'o2', 'x1', 'x2', 'x3', 'x4']

/** What most people would write, or forget. */
const CONTROLS: readonly (readonly [string, (text: string) => string])[] = [
  ['forgets that NULL is neither true nor false', (text) => text.replaceAll(') is not true)', ') = false)')],
  ['takes `A` for `a`', (text) => text.replaceAll(/ collate ("C"|binary)/g, '')],
]

const ENGINES: Readonly<Record<string, () => Promise<ForeignDatabase>>> = {
  PostgreSQL: async () => {
    const database = await openForeignPostgres()
    await database.run("create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    await database.run("create type state as enum ('a', 'b', 'o1')")
    return database
  },
  SQLite: async () => openForeignSqlite(),
}

for (const [engine, open] of Object.entries(ENGINES)) {
  describe(`a condition in SQL for a plain table of ${engine}`, () => {
    let database: ForeignDatabase
    const objects = new Map<string, readonly Representation[]>()

    before(async () => {
      database = await open()
      for (const [name, ids] of [['items', ITEM_IDS] as const, ['others', OTHER_IDS] as const]) {
        objects.set(name, sampleRows(ids, database.dialect.name))
        await database.create(tableOf(name, database.dialect.name))
        await database.fill(tableOf(name, database.dialect.name), objects.get(name) ?? [])
      }
    })

    after(() => database.close())

    function translated(condition: Condition): Sql {
      const { dialect } = database
      const reading = { resource: ITEMS, named, dialect, place: [] }
      const mapping = readMapping(describedTables(dialect.name), reading)
      if ('faults' in mapping) throw new Error(JSON.stringify(mapping.faults))
      const unsupported = new Unsupported()
      const asked = { dialect, mapping, resource: 'items', firstParameter: 1 }
      const sql = sqlOfCondition(fitTypes(condition, ITEMS, named), asked, unsupported)
      expect(unsupported.reasons).to.deep.equal([])
      return sql
    }

    const found = (sql: Sql) => database.select('item_id', 'items as i', sql)

    function meeting(condition: Condition): readonly string[] {
      const related = lookUpIn((name) => objects.get(name) ?? [])
      const all = objects.get('items') ?? []
      return all
        .filter((object) => meets(condition, object, related))
        .map(({ id }) => String(id))
        .toSorted()
    }

    const findsWhatMeets = (random: fc.Arbitrary<Condition>, change = (sql: Sql) => sql) =>
      fc.asyncProperty(random, async (condition) => {
        const sql = change(translated(condition))
        // A list of JSON may hold values of another type than the schema says; they fit nothing.
        expect(await found(sql), sql.text).to.deep.equal(meeting(fitTypes(condition, ITEMS, named)))
      })

    it('finds exactly the rows that meet it', () => fc.assert(findsWhatMeets(randomCondition), { numRuns: runs(900) }))

    it('finds them through other tables of the same database too', () =>
      fc.assert(findsWhatMeets(randomRelatedCondition), { numRuns: runs(600) }))

    for (const [what, change] of CONTROLS) {
      it(`is compared so that SQL is found out that ${what}`, async () => {
        const changed = ({ text, parameters }: Sql) => ({ text: change(text), parameters })
        const outcome = await fc.check(findsWhatMeets(randomCondition, changed), { numRuns: 5000, endOnFailure: true })
        expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
      })
    }
  })
}

describe('a condition in SQL for a table whose column is not what the request says', () => {
  it('takes no number for a text, though SQLite would', async () => {
    const database = openForeignSqlite()
    await database.run("create table items (item_id text, owner_id integer); insert into items values ('i', 1)")
    const reading = { resource: ITEMS, named, dialect: database.dialect, place: [] }
    const mapping = readMapping({ table: 'items', columns: { owner: 'owner_id' } }, reading)
    if ('faults' in mapping) throw new Error('the mapping is sound')
    const condition: Condition = { kind: 'holds', field: 'owner', values: ['1'] }
    const asked = { dialect: database.dialect, mapping, resource: 'items', firstParameter: 1 }
    const sql = sqlOfCondition(condition, asked, new Unsupported())
    expect(await database.select('item_id', 'items', sql)).to.deep.equal([])
    const text = sql.text.replace(/ and typeof.*$/, ')')
    expect(await database.select('item_id', 'items', { ...sql, text })).to.deep.equal(['i'])
    await database.close()
  })
})

describe('a condition for typed objects', () => {
  it('means the same for objects that have the declared types', () => {
    for (const object of sampleRows(ITEM_IDS, 'sqlite').map(withoutOtherTypes)) {
      const same = fc.property(randomCondition, (condition) => {
        expect(meets(fitTypes(condition, ITEMS, named), object)).to.equal(meets(condition, object))
      })
      fc.assert(same, { numRuns: runs(100) })
    }
  })
})

function withoutOtherTypes({ points, flags, ...others }: Representation): Representation {
  return others
}
