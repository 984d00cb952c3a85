/** Random objects and conditions over the fields of fixture.ts, with few values so that they often meet. */
import fc from 'fast-check'
import type { Json } from '../../src/resources/resource.ts'
import type { Condition, Document, Scalar } from '../../src/store/contract.ts'
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
const NUMBERS = [0, 1, -1, 1.5, 0.1, 2 ** 53, -(2 ** 53), 2 ** 60, 1e21, 5e-324, 123456.789]

const text = fc.constantFrom(...TEXTS)
const scalar = fc.oneof(text, fc.constantFrom(...NUMBERS), fc.boolean())
const nothing = fc.constantFrom<Json>(null, { a: 'a' }, {})
const structure: fc.Arbitrary<Json> = fc.oneof(
  fc.array(fc.oneof({ weight: 5, arbitrary: scalar }, nothing, fc.constant(['a', 1])), { maxLength: 3 }),
  nothing,
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
