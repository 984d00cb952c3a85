/** Pages of lists are kept while their text is the same; whoever changes what, they are what is stored now. */
import { expect } from 'chai'
import fc from 'fast-check'
import type pg from 'pg'
import type { ObjectQuery, Store } from '../../src/store/contract.ts'
import { MemberCutter } from '../../src/store/lists/member-cutter.ts'
import { KeptPages } from '../../src/store/postgres/query/pages.ts'
import { runs } from '../runs.ts'
import { ALL } from './engine.ts'
import { change, creation, RESOURCES, removal } from './fixture.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'

const IDS = ['a', 'b', 'c', 'd']
const OWNERS = ['ann', 'bob']
const BOTH_OWNERS = { kind: 'holds', field: 'ownerId', values: OWNERS } as const

/** What is stored, as an operator reads it. */
interface Stored {
  readonly id: string
  readonly ownerId?: string
  readonly title?: string
}

/** Some share a statement with others of their turn, some have one for themselves, and some tell marks. */
const QUERIES: readonly (readonly [ObjectQuery, (all: readonly Stored[]) => readonly Stored[]])[] = [
  [ALL, (all) => all],
  [{ ...ALL, limit: 2 }, (all) => all.slice(0, 2)],
  [{ ...ALL, limit: 2, after: ['a'] }, (all) => all.filter(({ id }) => id > 'a').slice(0, 2)],
  [{ ...ALL, order: [{ field: 'id', by: 'value', descending: true }] }, (all) => all.toReversed()],
  ...OWNERS.map((owner): (typeof QUERIES)[number] => [
    { where: { kind: 'holds', field: 'ownerId', values: [owner] }, limit: 3 },
    (all) => all.filter(({ ownerId }) => ownerId === owner).slice(0, 3),
  ]),
  [{ ...ALL, marks: [BOTH_OWNERS] }, (all) => all],
  [
    { ...ALL, filter: [{ field: 'title', by: 'value', operator: 'gte', values: ['t1'] }] },
    (all) => all.filter(({ title }) => title !== undefined && title >= 't1'),
  ],
]

const step = fc.record({
  kind: fc.constantFrom('create', 'create', 'update', 'update', 'delete', 'rewrite'),
  id: fc.constantFrom(...IDS),
  document: fc.record({ ownerId: fc.constantFrom(...OWNERS), title: fc.constantFrom('t0', 't1', 't2') }),
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
const steps = fc.array(step, { minLength: 3, maxLength: 12 })

const REWRITE = `update "objects_things"
  set document = (document::jsonb || jsonb_build_object('n', floor(random() * 1e6)))::text where id = $1`

const DECLARED = new MemberCutter(new Set(['id', 'ownerId', 'title', 'n']))

describe('pages that PostgreSQL was asked for before', () => {
  let schema: TestSchema
  let store: Store
  let raw: pg.Client
  const { rows } = KeptPages.prototype

  beforeEach(async () => {
    schema = await createSchema()
    store = (await schema.open({ resources: RESOURCES, now: () => new Date() })).store
    raw = await schema.raw()
  })
  afterEach(async () => {
    KeptPages.prototype.rows = rows
    await schema.remove()
  })

  it('are what is stored now, after any writes of anybody', async () => {
    await fc.assert(fc.asyncProperty(steps, agree), { numRuns: runs(25) })
  })

  it('would be found out if their texts were not compared', async () => {
    KeptPages.prototype.rows = keepingForGood()
    const found = await fc.check(fc.asyncProperty(steps, agree), {
      seed: 1,
      numRuns: 60,
      endOnFailure: true,
    })
    expect(found.failed).to.equal(true)
  })

  it('are the same rows again while nothing in them changes, and frozen; a change makes others', async () => {
    await store.create(creation('a', { title: 'x' }))
    await store.list('things', ALL)
    const again = await store.list('things', ALL)
    expect(Object.isFrozen(again)).to.equal(true)
    // Beside the page: another resource, and an object that the page doesn't reach.
    await store.create(creation('a', {}, 'Things'))
    expect(await store.list('things', ALL)).to.equal(again)
    await raw.query(`update "objects_things" set document = '{"title":"y"}'`)
    const changed = await store.list('things', ALL)
    expect(changed).to.not.equal(again)
    expect(changed[0]?.json(DECLARED)).to.match(/"title":"y"/)
    expect(again[0]?.json(DECLARED), 'what others still read').to.match(/"title":"x"/)
  })

  it('that were read once are not shared yet', async () => {
    await store.create(creation('a', {}))
    const first = await store.list('things', ALL)
    expect(Object.isFrozen(first)).to.equal(false)
  })

  async function agree(steps: readonly Step[]): Promise<void> {
    for (const one of steps) {
      await take(one).catch(() => undefined)
      const { rows: all } = await raw.query(`select id, document from "objects_things" order by id collate "C"`)
      const stored = all.map(({ id, document }): Stored => ({ id, ...JSON.parse(document) }))
      for (const [query, answer] of QUERIES) {
        const found = (await store.list('things', query)).map((row) => [JSON.parse(row.json(DECLARED)), row.marks])
        const marksOf = ({ ownerId = '' }: Stored) => (query.marks ? [OWNERS.includes(ownerId)] : [])
        expect(found).to.deep.equal(answer(stored).map((object) => [object, marksOf(object)]))
      }
    }
  }

  async function take({ kind, id, document }: Step): Promise<unknown> {
    if (kind === 'create') return store.create(creation(id, document))
    // Behind the store's back, with the same version and times.
    if (kind === 'rewrite') return raw.query(REWRITE, [id])
    const version = (await store.get('things', id))?.version ?? 0
    return kind === 'delete' ? store.delete(removal(id, version)) : store.update(change(id, version, document))
  }
})

/** The fault that the comparison prevents. */
function keepingForGood(): KeptPages['rows'] {
  const kept = new Map<string, ReturnType<KeptPages['rows']>>()
  return (question, page, read) => kept.getOrInsertComputed(question, () => read(page))
}
