/** How PostgreSQL finds a few objects out of many: by indexes, also from the caller's memberships. */
import { expect } from 'chai'
import type pg from 'pg'
import type { Document } from '../../src/resources/object.ts'
import type { ObjectQuery, Seeding } from '../../src/store/contract.ts'
import type { QueriedTableOf } from '../../src/store/postgres/query/condition.ts'
import { listStatement } from '../../src/store/postgres/query/lists.ts'
import { gatheredPage, pageStatement } from '../../src/store/postgres/query/pages.ts'
import { tableNameOf } from '../../src/store/postgres/stored-text.ts'
import { planTable } from '../../src/store/sql/indexes.ts'
import { quoteName } from '../../src/store/sql/statement.ts'
import { all, climb, holds, member, some } from './conditions.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'
import { INDEXED, RELATED } from './random-related.ts'

const TASKS = 10_000
const PROJECTS = 500

const tables: QueriedTableOf = (name) => {
  const resource = RELATED.byName.get(name)
  if (!resource) throw new Error(`no resource ${name}`)
  const { table, indexed, driving } = planTable(resource, INDEXED.get(name) ?? [], tableNameOf)
  return { name: quoteName(table), scalars: new Set(indexed), driving }
}

/** With those of its turn, as far as its shape allows. */
const together: typeof pageStatement = (query, table, tableOf) => {
  const gathered = gatheredPage(query, table, tableOf)
  if (!gathered) return pageStatement(query, table, tableOf)
  return { text: gathered.text, values: [JSON.stringify([gathered.texts, gathered.texts])] }
}

describe('a list on PostgreSQL', () => {
  let schema: TestSchema
  let raw: pg.Client
  before(async () => {
    schema = await createSchema()
    const { seeding } = await schema.open({ resources: RELATED, now: () => new Date(), indexFields: INDEXED })
    const project = (n: number) => `o${n % PROJECTS}`
    await fill(seeding, 'projects', PROJECTS, (n) => ({ up: `o${Math.floor(n / 3)}`, own: `lead${n}` }))
    await fill(seeding, 'users', PROJECTS * 6, (n) => ({ up: project(n), own: `user${n}` }))
    await fill(seeding, 'tasks', TASKS, (n) => ({
      up: project(n * 7),
      own: `user${n}`,
      count: n % 2,
      plain: `user${n}`,
    }))
    raw = await schema.raw()
    await raw.query('analyze')
  })
  after(() => schema.remove())

  for (const [read, statementOf] of [
    ['as one text', pageStatement],
    ['together with others', together],
    ['row by row', listStatement],
  ] as const) {
    describeList(read, statementOf, () => raw)
  }
})

/** A busy machine would take longer for all at once than a write may. */
async function fill(seeding: Seeding, resource: string, count: number, document: (n: number) => Document) {
  const objects = Array.from({ length: count }, (_, n) => ({ id: `o${n}`, document: document(n) }))
  for (let at = 0; at < count; at += 1000) await seeding.insert(resource, objects.slice(at, at + 1000))
}

function describeList(read: string, statementOf: typeof listStatement, raw: () => pg.Client): void {
  describe(`that is read ${read}`, () => {
    async function planOf(query: Partial<ObjectQuery>): Promise<string> {
      const asked = statementOf({ where: { kind: 'always' }, limit: 50, ...query }, tables('tasks'), tables)
      const { rows } = await raw().query(`explain ${asked.text}`, [...asked.values])
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    }

    it("finds the caller's objects by an index, in the order of ids", async () => {
      expect(await planOf({ where: holds('own', 'user7') }))
        .to.match(/"objects_tasks own/)
        .and.not.match(/Seq Scan|Sort Key/)
    })

    it('is sorted by an index, in either direction, and finds its next page there', async () => {
      for (const descending of [false, true]) {
        const order = ['due', 'id'].map((field) => ({ field, by: 'value', descending }) as const)
        const byTime = order.map((key) => (key.field === 'due' ? ({ ...key, by: 'time' } as const) : key))
        expect(await planOf({ order: byTime }), 'the first page')
          .to.match(/objects_tasks due/)
          .and.not.match(/Seq Scan/)
      }
      const next = await planOf({ after: ['o5'] })
      expect(next).to.match(/Index Cond: .*id > /)
    })

    for (const [name, where] of [
      ["the caller's memberships", member('user600')],
      ['what a climb ends at', climb('lead499')],
      ['both ends where either may hold', some(holds('own', 'user600'), member('user601'))],
      ['memberships, with a filter', all(member('user600'), { kind: 'not', of: holds('plain', 'x') })],
    ] as const) {
      it(`starts from ${name}, and reads no table of objects through`, async () => {
        const plan = await planOf({ where })
        expect(plan).to.match(/Index (Only )?Scan|Bitmap Index Scan/)
        expect(plan).to.not.match(/Seq Scan on objects_(tasks|users)/)
      })
    }

    it('reads all objects where no index can find them: the searches above are no accident', async () => {
      expect(await planOf({ where: holds('plain', 'user7'), limit: 10_000 })).to.match(
        /Seq Scan on objects_tasks|Index Scan using "objects_tasks id"/,
      )
    })
  })
}

describe('a page of an owner of few objects, where another one has nearly all', () => {
  it("reads the owner's objects alone, in either direction", async () => {
    const schema = await createSchema()
    const { seeding } = await schema.open({ resources: RELATED, now: () => new Date(), indexFields: INDEXED })
    await fill(seeding, 'tasks', TASKS, (n) => ({ own: n === 7 ? 'few' : 'most' }))
    const raw = await schema.raw()
    await raw.query('analyze')
    for (const descending of [false, true]) {
      const query = {
        where: holds('own', 'few'),
        limit: 50,
        order: [{ field: 'id', by: 'value', descending }],
      } as const
      const asked = together({ ...query, after: [descending ? 'o9' : 'o1'] }, tables('tasks'), tables)
      const { rows } = await raw.query(`explain analyze ${asked.text}`, [...asked.values])
      expect(rows.map((row) => row['QUERY PLAN']).join('\n'))
        .to.match(/"objects_tasks own value ordered".*rows=1 loops=2[\s\S]*Index Cond: .*any.* and .*id [<>] /i)
        .and.not.match(/Removed by Filter|Sort Key/)
    }
    await schema.remove()
  })
})
