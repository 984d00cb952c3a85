/** Random objects and conditions over the fields of fixture.ts, with few values so that they often meet. */
import fc from 'fast-check'
import { instantOf } from '../../src/base/time.ts'
import type { Condition } from '../../src/decide/conditions/condition.ts'
import type { Document, Scalar } from '../../src/resources/object.ts'
import type { Json } from '../../src/resources/resource.ts'
import type { Comparison } from '../../src/resources/routing/query.ts'
import type { SortKey } from '../../src/store/contract.ts'
import { ODD } from './fixture.ts'

const TEXTS = [
  'a',
  'b',
  'A',
  '',
  '0',
  '1',
  '1.0',
  'true',
  'null',
  '[]',
  '["a"]',
  '{"a":"b"}',
  'é',
  '😀',
  'a\u0000b',
  '\ud800',
  "'",
  '"',
]
/** Longer than a key of PostgreSQL, with beginnings that are alike. */
export const LONG_TEXTS = [
  ...['', 'a', 'é', '\uffff', '😀', '\u0000', '\u0001', 'aé', 'éa'].map((end) => 'x'.repeat(699) + end),
  ...['', 'a', '😀b', '\\', '\\u0000', '"', '\u0000', '\u0001', 'é'].map((end) => 'y'.repeat(1000) + end),
]

const NUMBERS = [0, 1, -1, 1.5, 0.1, 2 ** 53, -(2 ** 53), 2 ** 60, 1e21, 5e-324, 123456.789]

const text = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...TEXTS) }, fc.constantFrom(...LONG_TEXTS))
const scalar = fc.oneof(text, fc.constantFrom(...NUMBERS), fc.boolean())
const nothing = fc.constantFrom<Json>(null, { a: 'a' }, {})
const structure: fc.Arbitrary<Json> = fc.oneof(
  fc.array(fc.oneof({ weight: 5, arbitrary: scalar }, nothing, fc.constant(['a', 1])), { maxLength: 3 }),
  nothing,
)

const TIMES = [
  '2026-01-01T00:00:00.000Z',
  '2026-01-01T00:00:00Z',
  '2026-01-01t00:00:00.0004z',
  '2026-01-01T00:00:00.0005Z',
  '2026-01-01T01:00:00+01:00',
  '2025-12-31T20:30:00.999-03:30',
  '2026-01-01 00:00:59.9996Z',
  '2024-02-29T23:59:59.5+14:00',
  '2026-01-01T00:00:60Z',
  '2026-01-01T00:00:00',
  '2026-01-01',
  '2026-13-01T00:00:00Z',
  '2026-02-31T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:00:00+15:00',
  '2026-01-01T00:00:00+0100',
  '0000-01-01T00:00:00+01:00',
  '9999-12-31T23:59:59.9999Z',
  '0001-01-01T00:00:00Z',
  'now',
  '2461041.5',
]

const randomTime = fc.oneof(
  fc.constantFrom(...TIMES),
  fc
    .date({ min: new Date('0001-01-01'), max: new Date('9999-12-30'), noInvalidDate: true })
    .map((at) => at.toISOString()),
)

/** Values as declared come often, but an object may be older than its schema. A list never stands in an indexed scalar. */
const value = {
  indexed: fc.oneof({ weight: 6, arbitrary: scalar }, nothing),
  any: fc.oneof({ weight: 3, arbitrary: scalar }, { weight: 3, arbitrary: structure }),
}

const FIELDS = {
  ownerId: value.indexed,
  ownerID: value.indexed,
  status: value.indexed,
  count: value.indexed,
  open: value.indexed,
  [ODD]: value.indexed,
  department: value.any,
  price: value.any,
  due: fc.oneof({ weight: 3, arbitrary: randomTime }, value.indexed),
  tags: value.any,
  scores: value.any,
  extra: value.any,
} satisfies Record<string, fc.Arbitrary<Json>>

export const randomDocument: fc.Arbitrary<Document> = fc
  .record(FIELDS, { requiredKeys: [] })
  .chain((document) => fc.option(value.any).map((proto) => (proto === null ? document : withProto(document, proto))))

/** Wanted values: also some that no document has, and some that no database could compare. */
const wanted: fc.Arbitrary<Scalar> = fc.oneof(
  { weight: 3, arbitrary: scalar },
  fc.constantFrom('\ud800', 'id-1', 'id-2', '2026-01-01T00:00:00.000Z', Number.NaN, Number.POSITIVE_INFINITY),
)

const fieldName = fc.constantFrom(...Object.keys(FIELDS), '__proto__', 'toString', 'id', 'createdAt', 'updatedAt')

const { condition } = fc.letrec<{ condition: Condition; parts: Condition[] }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('holds'),
        field: fieldName,
        values: fc.array(wanted, { maxLength: 4 }),
      }),
    },
    fc.constantFrom<Condition>({ kind: 'always' }, { kind: 'never' }),
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('all'), of: tie('parts') }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('some'), of: tie('parts') }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('not'), of: tie('condition') }) },
  ) as fc.Arbitrary<Condition>,
  parts: fc.array(tie('condition'), { maxLength: 4 }),
}))

export const randomCondition = condition

/** `{ ...document, ['__proto__']: value }`: an own member, as JSON.parse makes it. */
function withProto(document: Document, proto: Json): Document {
  return { ...document, ['__proto__']: proto }
}

const byTime: fc.Arbitrary<Comparison> = fc.record({
  field: fc.constantFrom('due', 'createdAt', 'department'),
  by: fc.constant('time'),
  operator: fc.constantFrom('in', 'gt', 'gte', 'lt', 'lte'),
  values: fc.array(
    randomTime.map((text) => instantOf(text) ?? '2026-01-01T00:00:00.000Z'),
    { minLength: 1, maxLength: 3 },
  ),
})

const comparable = scalar.filter((one) => typeof one !== 'string' || one.isWellFormed())

const byValue: fc.Arbitrary<Comparison> = fc.record({
  field: fc.constantFrom('id', 'ownerId', 'status', 'count', 'open', ODD, 'price', 'extra', 'createdAt'),
  by: fc.constant('value'),
  operator: fc.constantFrom('in', 'gt', 'gte', 'lt', 'lte'),
  values: fc.array(comparable, { minLength: 1, maxLength: 3 }),
})

/** An ordering has one value; `in` has some. */
export const randomFilter: fc.Arbitrary<readonly Comparison[]> = fc.array(
  fc.oneof(byValue, byTime).map((one) => (one.operator === 'in' ? one : { ...one, values: one.values.slice(0, 1) })),
  { maxLength: 2 },
)

const sortKey: fc.Arbitrary<SortKey> = fc
  .record({
    field: fc.constantFrom('ownerId', 'status', 'count', 'open', 'due', 'createdAt', 'price'),
    descending: fc.boolean(),
  })
  .map(({ field, descending }) => ({ field, descending, by: field === 'due' ? 'time' : 'value' }))

/** The id comes last, in either direction. */
export const randomOrder: fc.Arbitrary<readonly SortKey[]> = fc
  .tuple(fc.uniqueArray(sortKey, { maxLength: 3, selector: ({ field }) => field }), fc.boolean())
  .map(([keys, descending]) => [...keys, { field: 'id', by: 'value', descending }])
