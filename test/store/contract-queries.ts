/** The contract: filters and orders mean in the engine what sort-value.ts says in plain code, and pages are cut by place. */
import { expect } from 'chai'
import fc from 'fast-check'
import { type Condition, meets } from '../../src/decide/conditions/condition.ts'
import type { Document } from '../../src/resources/object.ts'
import type { Representation } from '../../src/resources/resource.ts'
import type { Comparison } from '../../src/resources/routing/query.ts'
import {
  type ListedObject,
  LONGEST_GROUPED,
  type ObjectQuery,
  type SortKey,
  type SortValue,
  type Store,
} from '../../src/store/contract.ts'
import { compareSortValues, fitsComparison, sortValue } from '../../src/store/lists/sort-value.ts'
import { representListed } from '../listed.ts'
import { runs } from '../runs.ts'
import { ALL, NEW_YEAR, type Open, type TestEngine } from './engine.ts'
import { failure, RESOURCES } from './fixture.ts'
import { inputsFor } from './inputs-for.ts'
import { LONG_TEXTS, randomCondition, randomDocument, randomFilter, randomOrder } from './random.ts'

type Plain = (objects: readonly ListedObject[], query: Asked) => readonly ListedObject[]

interface Asked {
  readonly where: Condition
  readonly filter: readonly Comparison[]
  readonly order: readonly SortKey[]
}

const key = (field: string, descending = false): SortKey => ({ field, by: 'value', descending })

export function describeQueries(open: Open): void {
  it('orders: no value, numbers, texts by code points, false, true, lists; descending is the reverse', async () => {
    const { store, seeding } = await open()
    const ascending = [null, -1, 0, 1.5, '', 'A', 'a', '\uffff', '\u{1f600}', false, true, ['x']]
    const ids = 'abcdefghijkl'.split('')
    const objects = ids.map((id, i) => ({ id, document: { price: ascending[i] ?? null } }))
    await seeding.insert('things', objects.toReversed())
    const listed = async (descending: boolean) =>
      (await store.list('things', { ...ALL, order: [key('price', descending), key('id')] })).map(({ id }) => id)
    expect(await listed(false)).to.deep.equal(ids)
    expect(await listed(true)).to.deep.equal(ids.toReversed())
  })

  it('compares times as instants, whatever their offset, to the millisecond', async () => {
    const { store, seeding } = await open()
    const due = ['2026-01-01T01:00:00+01:00', '2026-01-01T00:00:00.0004Z', '2025-12-31T23:59:59.999Z', 'soon', null]
    await seeding.insert(
      'things',
      due.map((one, i) => ({ id: `t${i}`, document: { due: one } })),
    )
    const ids = async (operator: Comparison['operator']) => {
      const filter: Comparison[] = [{ field: 'due', by: 'time', operator, values: [NEW_YEAR] }]
      return (await store.list('things', { ...ALL, filter })).map(({ id }) => id)
    }
    expect(await ids('in')).to.deep.equal(['t0', 't1'])
    expect(await ids('lt')).to.deep.equal(['t2'])
    expect(await ids('gte')).to.deep.equal(['t0', 't1'])
  })

  it('compares no day that its month lacks', async () => {
    const { store, seeding } = await open()
    const due = ['2026-02-28T00:00:00Z', '2026-02-29T00:00:00Z', '2026-02-30T00:00:00Z', '2026-04-31T00:00:00Z']
    await seeding.insert(
      'things',
      due.map((one, i) => ({ id: `t${i}`, document: { due: one } })),
    )
    const filter: Comparison[] = [{ field: 'due', by: 'time', operator: 'gt', values: [NEW_YEAR] }]
    expect((await store.list('things', { ...ALL, filter })).map(({ id }) => id)).to.deep.equal(['t0'])
  })

  it('does not compare a text with a number, nor anything with what is missing', async () => {
    const { store, seeding } = await open()
    const documents = [{ count: 5 }, { count: '5' }, { count: true }, { count: null }, {}, { count: 7 }]
    await seeding.insert(
      'things',
      documents.map((document, i) => ({ id: `t${i}`, document })),
    )
    const ids = async (operator: Comparison['operator'], value: number | string) =>
      (await store.list('things', { ...ALL, filter: [{ field: 'count', by: 'value', operator, values: [value] }] }))
        .map(({ id }) => id)
        .join()
    expect(await ids('gte', 5)).to.equal('t0,t5')
    expect(await ids('lt', 7)).to.equal('t0')
    expect(await ids('gt', '')).to.equal('t1')
    expect(await ids('lt', 'z')).to.equal('t1')
  })

  it('counts what a list without a limit would hold', async () => {
    const { store, seeding } = await open()
    await seeding.insert(
      'things',
      Array.from({ length: 30 }, (_, i) => ({ id: `t${i}`, document: { count: i % 3 } })),
    )
    const filter: Comparison[] = [{ field: 'count', by: 'value', operator: 'gt', values: [0] }]
    const where: Condition = { kind: 'not', of: { kind: 'holds', field: 'count', values: [2] } }
    expect(await store.count('things', { where: { kind: 'always' } })).to.deep.equal({ found: 30, isExact: true })
    expect(await store.count('things', { where, filter })).to.deep.equal({ found: 10, isExact: true })
  })
}

export function describeRandomQueries(engine: TestEngine): void {
  /** Fails when the pages together aren't exactly what plain code finds in plain code's order. */
  async function compare(store: Store, query: Asked, limit: number, plain: Plain): Promise<void> {
    const expected = plain(await store.list('things', ALL), query)
    const listed = await walk(store, { ...query, limit })
    expect(listed.map(({ id }) => id)).to.deep.equal(expected.map(({ id }) => id))
    expect(await store.count('things', query)).to.deep.equal({ found: expected.length, isExact: true })
    await compareGroups(store, query, expected.map(representListed))
  }

  async function compareGroups(store: Store, query: Asked, expected: readonly Representation[]): Promise<void> {
    const by = [{ name: 'status', type: 'string' }] as const
    const found = await store.aggregate('things', { ...query, by, of: ['price', 'count'], limit: 99 })
    // A long text is told from no other one.
    const statusOf = ({ status }: Representation) => (typeof status === 'string' ? status : null)
    const isLong = (text: string | null) => text !== null && Buffer.byteLength(text) > LONGEST_GROUPED
    const groups = Map.groupBy(expected, (one) => (isLong(statusOf(one)) ? 'long' : statusOf(one)))
    expect(found).to.have.length(groups.size)
    for (const { values, isCut, count, numbers } of found) {
      const rows = groups.get(isCut ? 'long' : (values[0] as string | null)) ?? []
      expect(count).to.equal(rows.length)
      const seen = ['price', 'count'].map((field) =>
        rows.map((row) => row[field]).filter((one) => typeof one === 'number'),
      )
      expect(numbers.map((one) => [one.count, one.least, one.most].map(Number))).to.deep.equal(
        seen.map((all) => [all.length, all.length > 0 ? Math.min(...all) : 0, all.length > 0 ? Math.max(...all) : 0]),
      )
    }
  }

  async function assertQueries(plain: Plain, numRuns = 50, { document, filter }: Inputs = ANY_INPUTS): Promise<void> {
    const documents = fc.array(document, { minLength: 1, maxLength: 14 })
    const query = fc.record({ where: randomCondition, filter, order: randomOrder })
    const queries = fc.array(query, { minLength: 1, maxLength: 30, size: 'max' })
    const property = fc.asyncProperty(
      documents,
      queries,
      fc.integer({ min: 1, max: 5 }),
      async (stored, asked, limit) => {
        const database = await engine.create()
        try {
          const { store, seeding } = await database.open({ resources: RESOURCES, now: () => new Date(NEW_YEAR) })
          await seeding.insert(
            'things',
            stored.filter(isWellFormed).map((document, i) => ({ id: `id-${i}`, document })),
          )
          for (const one of asked) await compare(store, { ...one, where: eitherOr(one.where, limit) }, limit, plain)
        } finally {
          await database.remove()
        }
      },
    )
    await fc.assert(property, { numRuns, endOnFailure: true })
  }

  it('lists what plain filters find, in plain order, over pages, for random objects and queries', () =>
    assertQueries(plainly, inputsFor(engine, runs(50))))

  it('sorts and compares long texts that begin alike as any texts, over pages', () =>
    assertQueries(plainly, inputsFor(engine, runs(30)), LONG_INPUTS))

  if (engine.share !== undefined) return

  it('would notice that it sorts them by their beginnings alone', async () => {
    const beginning = (value: unknown) => (typeof value === 'string' ? value.slice(0, 699) : value)
    const plain: Plain = (objects, query) =>
      plainly(objects, query, (a, b) => compareSortValues(beginning(a) as SortValue, beginning(b) as SortValue))
    expect(await failure(assertQueries(plain, 50, LONG_INPUTS))).to.be.an('error')
  })

  const wrong: Readonly<Record<string, Plain>> = {
    'sorts texts by UTF-16': (objects, query) => plainly(objects, query, (a, b) => (a < b ? -1 : Number(a > b))),
    'takes no value for the greatest': (objects, query) =>
      plainly(objects, query, (a, b) => Number(a === null) - Number(b === null) || compareSortValues(a, b)),
    'leaves the filter out': (objects, query) => plainly(objects, { ...query, filter: [] }),
  }
  for (const [fault, plain] of Object.entries(wrong)) {
    it(`would notice an order or a filter that ${fault}`, async () => {
      expect(await failure(assertQueries(plain))).to.be.an('error')
    })
  }
}

interface Inputs {
  readonly document: fc.Arbitrary<Document>
  readonly filter: fc.Arbitrary<readonly Comparison[]>
}

const ANY_INPUTS: Inputs = { document: randomDocument, filter: randomFilter }

const longText = fc.constantFrom(...LONG_TEXTS)

const LONG_INPUTS: Inputs = {
  document: fc.record({
    status: fc.oneof(longText, fc.constantFrom('a', 1, true, null)),
    price: fc.oneof(longText, fc.constant(['x'])),
    // Makes JSON with escapes out of the document.
    extra: fc.constantFrom('', '\u0000', '\u0001\\u0000', '\\\\"'),
  }),
  filter: fc.array(
    fc.record({
      field: fc.constantFrom('status', 'price'),
      by: fc.constant('value' as const),
      operator: fc.constantFrom('in', 'gt', 'gte', 'lt', 'lte'),
      values: longText.map((text) => [text]),
    }),
    { maxLength: 1 },
  ),
}

/** Random conditions hold for few objects; half of the queries are about all of them. */
function eitherOr(where: Condition, odd: number): Condition {
  return odd % 2 === 0 ? where : { kind: 'always' }
}

/** Other text can't come in by HTTP, and databases can't sort it. */
function isWellFormed(document: object): boolean {
  return !JSON.stringify(document).includes('\\ud800')
}

function plainly(
  objects: readonly ListedObject[],
  { where, filter, order }: Asked,
  // biome-ignore lint/suspicious/noExplicitAny: the negative controls compare what they shouldn't
  compareValues: (a: any, b: any) => number = compareSortValues,
): readonly ListedObject[] {
  const found = objects.filter((object) => {
    const whole = representListed(object)
    return meets(where, whole) && filter.every((one) => fitsComparison(one, whole))
  })
  const compare = (a: ListedObject, b: ListedObject) => {
    for (const one of order) {
      const compared = compareValues(sortValue(one, representListed(a)), sortValue(one, representListed(b)))
      if (compared !== 0) return one.descending ? -compared : compared
    }
    return 0
  }
  return found.toSorted(compare)
}

async function walk(store: Store, query: ObjectQuery & Asked): Promise<readonly ListedObject[]> {
  const seen: ListedObject[] = []
  for (let after: readonly SortValue[] | undefined; ; ) {
    const page = await store.list('things', { ...query, ...(after && { after }) })
    seen.push(...page)
    if (seen.length > 1000) throw new Error('the pages have no end')
    const last = page.at(-1)
    if (!last || page.length < query.limit) return seen
    after = query.order.map((one) => sortValue(one, representListed(last)))
  }
}
