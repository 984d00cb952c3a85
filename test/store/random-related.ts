/** Random worlds of related objects, and conditions on them: few values, so that objects often meet, and dangling ids. */
import fc from 'fast-check'
import type { Condition, Lookup } from '../../src/decide/conditions/condition.ts'
import type { Document, Scalar } from '../../src/resources/object.ts'
import type { Json } from '../../src/resources/resource.ts'
import { field, resource, resourcesOf } from './fixture.ts'

const WORLD = ['tasks', 'projects', 'users'] as const

const TEXT = { readOnly: true } as const

const fields = [
  field('id', 'string', TEXT),
  field('createdAt', 'string', { ...TEXT, indexed: true, time: true }),
  field('updatedAt', 'string', { ...TEXT, indexed: true, time: true }),
  field('up', 'string'),
  field('own', 'string', { indexed: true }),
  field('plain', 'string'),
  field('list', 'string', { list: true }),
  field('count', 'number', { indexed: true }),
  field('due', 'string', { indexed: true, time: true }),
]

export const RELATED = resourcesOf(...WORLD.map((name) => resource(name, fields)))

/** A list stands only in fields that no column holds. */
export const INDEXED: ReadonlyMap<string, readonly string[]> = new Map(WORLD.map((name) => [name, ['up', 'own']]))

const IDS = ['o0', 'o1', '1.0', 'é😀', 'a\u0000b', 'gone']
const STORED_IDS = IDS.slice(0, -1)

const TIMES = [
  '2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00.001Z',
  '2026-01-01T02:00:00+02:00',
  '2025-12-31T23:59:60Z',
  '2025-11-31T00:00:00Z',
  'o1',
]
const NUMBERS = [0, 1, 1.5, 2]

/** As text, the number 1 is 1.0 in SQLite. */
const value = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...IDS) },
  { weight: 3, arbitrary: fc.constantFrom<Scalar>(1, '1.0', true) },
)
const nothing = fc.constantFrom<Json>(null, {}, { a: 'o1' })
const scalar = fc.oneof({ weight: 6, arbitrary: value }, nothing)
const list = fc.array(fc.oneof({ weight: 4, arbitrary: value }, nothing, fc.constant(['o1', 1])), { maxLength: 3 })
const any = fc.oneof(scalar, list)
const time = fc.oneof(fc.constantFrom<Json>(...TIMES), nothing)

const document: fc.Arbitrary<Document> = fc.record(
  {
    up: scalar,
    own: scalar,
    plain: any,
    list: any,
    count: fc.oneof(fc.constantFrom<Json>(...NUMBERS, '1'), nothing),
    due: time,
  },
  { requiredKeys: [] },
)

export type World = Readonly<Record<string, readonly { readonly id: string; readonly document: Document }[]>>

const objects = fc
  .uniqueArray(fc.constantFrom(...STORED_IDS), { minLength: 3 })
  .chain((ids) => fc.tuple(...ids.map((id) => document.map((one) => ({ id, document: one })))))

export const randomWorld: fc.Arbitrary<World> = fc.record(Object.fromEntries(WORLD.map((name) => [name, objects])))

const compared = fc.constantFrom('id', 'up', 'own', 'plain', 'list')
const bounds = <L extends string, H extends string>(low: L, high: H, bound: fc.Arbitrary<number>) =>
  fc.record({ [low]: bound, [high]: bound } as Record<L | H, fc.Arbitrary<number>>, { requiredKeys: [] })

const instants = fc.constantFrom(0, 1, -1, 3_600_000, 0.5).map((ms) => Date.parse('2026-01-01T00:00:00Z') + ms)
const anyInstant = fc.oneof(instants, fc.constantFrom(-1e15, 1e15, Number.NaN, Number.POSITIVE_INFINITY))

const leaf: fc.Arbitrary<Condition> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('holds' as const),
      field: compared,
      values: fc.array(value, { minLength: 1, maxLength: 3 }),
    }),
  },
  fc.constant<Condition>({ kind: 'always' }),
  fc.record({ kind: fc.constant('present' as const), field: fc.oneof(compared, fc.constantFrom('count', 'due')) }),
  fc
    .tuple(fc.constantFrom('count', 'plain', 'list', 'id'), bounds('atLeast', 'atMost', fc.constantFrom(0, 1, 1.25, 2)))
    .map(([name, both]) => ({ kind: 'between' as const, field: name, ...both })),
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('due', 'due', 'due', 'plain', 'createdAt', 'own', 'id'),
        bounds('after', 'before', anyInstant),
      )
      .map(([name, both]) => ({ kind: 'time' as const, field: name, ...both })),
  },
)

/**
 * `steps`: the most related objects one behind the other. A chain climbs once, as relations do (`relation-chain`): a climb
 * in a climb meets more objects than a look-up may (MOST_CLIMBED).
 */
function conditionOn(name: string, steps: number, depth: number, climbs = true): fc.Arbitrary<Condition> {
  if (depth === 0) return leaf
  const part = conditionOn(name, steps, depth - 1, climbs)
  const parts = fc.array(part, { minLength: 1, maxLength: 3 })
  const logic = fc.oneof(
    fc.record({ kind: fc.constantFrom('all' as const, 'some' as const), of: parts }),
    fc.record({ kind: fc.constant('not' as const), of: part }),
  )
  if (steps === 0) return fc.oneof({ weight: 2, arbitrary: leaf }, logic)
  const related = fc.constantFrom(...WORLD).chain((other) =>
    fc.record({
      kind: fc.constant('related' as const),
      field: compared,
      resource: fc.constant(other as string),
      by: compared,
      where: conditionOn(other, steps - 1, depth - 1, climbs),
    }),
  )
  const climb = fc.record({
    kind: fc.constant('climb' as const),
    field: fc.constantFrom('up', 'list'),
    resource: fc.constant(name),
    depth: fc.integer({ min: 1, max: 8 }),
    where: conditionOn(name, steps - 1, depth - 1, false),
  })
  return fc.oneof(
    { weight: 2, arbitrary: leaf },
    logic,
    { weight: 4, arbitrary: related },
    ...(climbs ? [{ weight: 2, arbitrary: climb }] : []),
  )
}

const column = fc.constantFrom('id', 'up', 'own')

/** What an index can find from its end: each step compares columns, and the end is some values. */
function ledOn(name: string, steps: number): fc.Arbitrary<Condition> {
  const end: fc.Arbitrary<Condition> = fc.record({
    kind: fc.constant('holds' as const),
    field: column,
    values: fc.array(value, { minLength: 1, maxLength: 3 }),
  })
  if (steps === 0) return end
  const where = (other: string) =>
    fc.oneof(
      { weight: 3, arbitrary: ledOn(other, steps - 1) },
      fc.record({ kind: fc.constant('all' as const), of: fc.tuple(ledOn(other, steps - 1), conditionOn(other, 1, 2)) }),
      fc.record({ kind: fc.constant('some' as const), of: fc.tuple(ledOn(other, steps - 1), leaf) }),
    )
  const related = fc.constantFrom(...WORLD).chain((other) =>
    fc.record({
      kind: fc.constant('related' as const),
      field: column,
      resource: fc.constant(other as string),
      by: column,
      where: where(other),
    }),
  )
  const climb = fc.record({
    kind: fc.constant('climb' as const),
    field: fc.constant('up'),
    resource: fc.constant(name),
    depth: fc.integer({ min: 1, max: 4 }),
    where: where(name),
  })
  return fc.oneof({ weight: 2, arbitrary: related }, climb)
}

const led = fc.integer({ min: 1, max: 3 }).chain((steps) => ledOn('tasks', steps))

export const randomRelated: fc.Arbitrary<Condition> = fc.oneof(
  conditionOn('tasks', 4, 5),
  led,
  fc.record({ kind: fc.constant('all' as const), of: fc.tuple(conditionOn('tasks', 1, 2), led) }),
  fc.record({ kind: fc.constant('some' as const), of: fc.tuple(led, fc.oneof(led, conditionOn('tasks', 1, 1))) }),
)

export const randomLookup: fc.Arbitrary<Lookup> = fc.constantFrom(...WORLD).chain((name) => {
  const values = fc.array(value, { maxLength: 3 })
  const climb = fc.record({ field: fc.constantFrom('up', 'list'), depth: fc.integer({ min: 1, max: 4 }) })
  const [where, above] = [conditionOn(name, 3, 4), conditionOn(name, 3, 4, false)]
  return fc.oneof(
    fc.record({ resource: fc.constant(name as string), by: compared, values, where }),
    fc.record({ resource: fc.constant(name as string), by: fc.constant('id'), values, climb, where: above }),
  )
})
