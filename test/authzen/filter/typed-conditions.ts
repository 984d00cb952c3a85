/** Random conditions on the rows of typed-rows.ts: few values, so that they often meet, and some that no row has. */

import fc from 'fast-check'
import type { Condition } from '../../../src/decide/conditions/condition.ts'
import { isScalar, type Scalar } from '../../../src/resources/object.ts'
import type { Field } from '../../../src/resources/resource.ts'
import { FIELDS, KEYS, KINDS, TEXTS } from './typed-rows.ts'

const ALL_VALUES: readonly Scalar[] = [
  ...TEXTS,
  ...KEYS,
  KEYS[0]?.toUpperCase() ?? '',
  'o2',
  'gone',
  'a\0b',
  '\ud800',
  '01',
  '1.0',
  'true',
  '9223372036854775808',
  0,
  1,
  -1,
  0.1,
  1.5,
  1e21,
  true,
  false,
  Number.NaN,
]

const names = (...types: readonly (Field['type'] | 'time')[]) =>
  fc.constantFrom(...FIELDS.filter(({ type, time }) => types.includes(time ? 'time' : type)).map(({ name }) => name))

const holds: fc.Arbitrary<Condition> = fc
  .constantFrom(...KINDS.filter((kind) => !kind.field.time))
  .chain(({ field: { name }, values }) => {
    const own = values.length > 0 ? fc.constantFrom(...values.filter(isScalar)) : fc.constantFrom('o1', 'o2', 'o3')
    const wanted = fc.oneof({ weight: 3, arbitrary: own }, fc.constantFrom(...ALL_VALUES))
    return fc.record({
      kind: fc.constant('holds'),
      field: fc.constant(name),
      values: fc.array(wanted, { maxLength: 3 }),
    })
  })

const bound = fc.constantFrom(0, 1, -1, 0.1, 1.25, 2, 1e21, -1e300)
const instant = fc
  .constantFrom(0, 1, -1, 3_600_000, 0.5, -1e15, 1e15)
  .map((offset) => Date.parse('2026-01-01T00:00:00Z') + offset)

const leaf: fc.Arbitrary<Condition> = fc.oneof(
  { weight: 5, arbitrary: holds },
  fc.record({ kind: fc.constant('present'), field: fc.constantFrom(...FIELDS.map(({ name }) => name)) }),
  {
    weight: 2,
    arbitrary: fc.record(
      { kind: fc.constant('between'), field: names('integer', 'number', 'string'), atLeast: bound, atMost: bound },
      { requiredKeys: ['kind', 'field'] },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.record(
      { kind: fc.constant('time'), field: names('time', 'time', 'number'), after: instant, before: instant },
      { requiredKeys: ['kind', 'field'] },
    ),
  },
) as fc.Arbitrary<Condition>

const joined = fc.constantFrom(
  'id',
  'owner',
  'code',
  'mail',
  'status',
  'number',
  'key',
  'count',
  'price',
  'open',
  'tags',
  'marks',
  'keys',
  'scores',
  'up',
)

function conditionOf(depth: number, steps: number): fc.Arbitrary<Condition> {
  if (depth === 0) return leaf
  const part = conditionOf(depth - 1, steps)
  const logic = [
    fc.record({ kind: fc.constantFrom('all', 'some'), of: fc.array(part, { minLength: 1, maxLength: 3 }) }),
    fc.record({ kind: fc.constant('not'), of: part }),
  ]
  const where = conditionOf(depth - 1, steps - 1)
  const related =
    steps === 0
      ? []
      : [
          fc.record({
            kind: fc.constant('related'),
            field: joined,
            resource: fc.constantFrom('items', 'others'),
            by: joined,
            where,
          }),
          fc.record({
            kind: fc.constant('climb'),
            field: fc.constantFrom('up', 'tags', 'marks'),
            resource: fc.constant('items'),
            depth: fc.integer({ min: 1, max: 4 }),
            where,
          }),
        ]
  return fc.oneof({ weight: 2, arbitrary: leaf }, ...logic, ...related) as fc.Arbitrary<Condition>
}

/** About the object alone. */
export const randomCondition = conditionOf(3, 0)

/** Also about related objects. */
export const randomRelatedCondition = conditionOf(4, 2)
