/** A resource whose table has a column of each kind, with random rows of few values. */

import fc from 'fast-check'
import type { Field, Json, Representation, Resource } from '../../../src/resources/resource.ts'
import type { DescribedTables } from '../../../src/server/authzen/filter/read-mapping.ts'
import { field, resource } from '../../policy/fixture.ts'
import type { PlainColumn, PlainTable } from './plain-tables.ts'

type Engine = 'postgresql' | 'sqlite'

interface Kind {
  readonly field: Field
  readonly column: string
  /** The column's type in each database. */
  readonly types: Readonly<Record<Engine, string>>
  /** Its description in a request, where it isn't the usual one. */
  readonly described?: Partial<Readonly<Record<Engine, { readonly type?: string; readonly list?: string }>>>
  readonly values: readonly Json[]
  /** The value in the database. */
  readonly stored?: (value: Json, engine: Engine) => unknown
}

export const KEYS = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b']

const TIMES = [
  '2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00.001Z',
  '2026-01-01t02:00:00.0009+02:00',
  '2025-12-31T23:59:59.9999Z',
  '0001-01-01T00:00:00Z',
  '9999-12-30T23:59:59-10:00',
]

/** Texts that are no date-times, and some that SQLite takes for one. */
const NO_TIMES = ['2026-01-01', '2026-01-01T00:00:00', '2026-02-31T00:00:00Z', 'now', '', '2461041.5']

const json = (value: Json) => (value === null ? null : JSON.stringify(value))
const asIs = (value: Json) => value
const bit = (value: Json) => (typeof value === 'boolean' ? Number(value) : value)
const perEngine = (postgresql: string, sqlite: string) => ({ postgresql, sqlite })
const list = (name: string, type: Field['type'], more: Partial<Field> = {}) =>
  field(name, type, { list: true, ...more })
const SAME_TEXT = perEngine('text', 'text')

export const TEXTS = ['a', 'b', 'A', '', '1', "'", '"', '$1', '?', 'é', '😀', '%', 'o1']

export const KINDS: readonly Kind[] = [
  {
    field: field('id', 'string'),
    column: 'item_id',
    types: perEngine('text primary key', 'text primary key'),
    values: [],
  },
  { field: field('owner', 'string'), column: 'owner_id', types: SAME_TEXT, values: TEXTS },
  // Each of these takes `A` for `a`.
  {
    field: field('mail', 'string'),
    column: 'Mail',
    types: perEngine('text collate ci', 'text collate nocase'),
    values: TEXTS,
  },
  // A number that is stored here becomes a text.
  { field: field('code', 'string'), column: 'code', types: perEngine('varchar(20)', 'varchar(20)'), values: TEXTS },
  {
    field: field('key', 'string'),
    column: 'key',
    types: perEngine('uuid', 'text'),
    described: { postgresql: { type: 'uuid' } },
    values: KEYS,
  },
  {
    field: field('number', 'string'),
    column: 'number',
    types: perEngine('bigint', 'integer'),
    described: { postgresql: { type: 'bigint' }, sqlite: { type: 'bigint' } },
    values: ['0', '1', '-1', '9223372036854775807', '10'],
    stored: (value, engine) => (engine === 'sqlite' && typeof value === 'string' ? BigInt(value) : value),
  },
  {
    field: field('status', 'string'),
    column: 'status',
    types: perEngine('state', 'text'),
    described: { postgresql: { type: 'enum' } },
    values: ['a', 'b', 'o1'],
  },
  { field: field('count', 'integer'), column: 'n', types: perEngine('integer', 'integer'), values: [0, 1, -1, 2, 10] },
  {
    field: field('price', 'number'),
    column: 'price',
    types: perEngine('numeric', 'numeric'),
    values: [0, 0.1, 1.5, -2, 1e21, 1],
  },
  {
    field: field('rate', 'number'),
    column: 'rate',
    types: perEngine('double precision', 'real'),
    values: [0, 0.1, 1.5, -2, 5e-324, 1],
  },
  {
    field: field('open', 'boolean'),
    column: 'open',
    types: perEngine('boolean', 'boolean'),
    values: [true, false],
    stored: (value, engine) => (engine === 'sqlite' ? bit(value) : value),
  },
  {
    field: field('due', 'string', { time: true }),
    column: 'due',
    types: perEngine('timestamptz', 'text'),
    values: TIMES,
  },
  {
    field: field('at', 'string', { time: true }),
    column: 'at_ms',
    types: perEngine('bigint', 'integer'),
    described: { postgresql: { type: 'epoch-ms' }, sqlite: { type: 'epoch-ms' } },
    values: TIMES.slice(0, 2),
    stored: (value) => (typeof value === 'string' ? Date.parse(value) : value),
  },
  {
    field: list('tags', 'string'),
    column: 'tags',
    types: perEngine('text[]', 'text'),
    values: TEXTS,
    stored: (value, engine) => (engine === 'sqlite' ? json(value) : value),
  },
  {
    field: list('keys', 'string'),
    column: 'keys',
    types: perEngine('uuid[]', 'text'),
    described: { postgresql: { type: 'uuid' } },
    values: KEYS,
    stored: (value, engine) => (engine === 'sqlite' ? json(value) : value),
  },
  {
    field: list('marks', 'string'),
    column: 'marks',
    types: perEngine('jsonb', 'text'),
    described: { postgresql: { list: 'json' } },
    values: [...TEXTS, ['a'], { a: 'a' }],
    stored: json,
  },
  {
    field: list('scores', 'number'),
    column: 'scores',
    types: perEngine('double precision[]', 'text'),
    values: [0, 1, 0.1, -2],
    stored: (value, engine) => (engine === 'sqlite' ? json(value) : value),
  },
  {
    field: list('points', 'number'),
    column: 'points',
    types: perEngine('json', 'text'),
    described: { postgresql: { list: 'json' } },
    values: [0, 1, 0.1, -2, '1'],
    stored: json,
  },
  {
    field: list('flags', 'boolean'),
    column: 'flags',
    types: perEngine('jsonb', 'text'),
    described: { postgresql: { list: 'json' } },
    values: [true, false, 1, 'true'],
    stored: json,
  },
  {
    field: list('dues', 'string', { time: true }),
    column: 'dues',
    types: perEngine('timestamptz[]', 'text'),
    values: TIMES,
    stored: (value, engine) => (engine === 'sqlite' ? json(value) : value),
  },
  { field: field('up', 'string'), column: 'parent_id', types: SAME_TEXT, values: ['o1', 'o2', 'o3', 'gone'] },
]

export const FIELDS = KINDS.map((kind) => kind.field)

export const ITEMS = resource('items', FIELDS, [])
const OTHERS = resource('others', FIELDS, [])

export const named = (name: string): Resource | undefined => [ITEMS, OTHERS].find((one) => one.name === name)

/** The values of a row in each database: texts that are no times fit no column of times. */
function valueFor({ field: { name, list: isList, time }, values }: Kind, engine: Engine): fc.Arbitrary<Json> {
  const possible = time && name === 'due' && engine === 'sqlite' ? [...values, ...NO_TIMES] : values
  const one = fc.constantFrom<Json>(...possible, null)
  return isList ? fc.oneof({ weight: 5, arbitrary: fc.array(one, { maxLength: 3 }) }, fc.constant(null)) : one
}

/** Drawn anew in each run. */
export function sampleRows(ids: readonly string[], engine: Engine): readonly Representation[] {
  const values = KINDS.slice(1).map((kind) => valueFor(kind, engine).map((value) => [kind.field.name, value] as const))
  const row = fc.tuple(...values).map((entries) => Object.fromEntries(entries))
  return fc.sample(row, ids.length).map((one, i) => ({ id: ids[i] ?? '', ...one }))
}

export function tableOf(name: string, engine: Engine): PlainTable {
  return { name, columns: KINDS.map((kind) => columnOf(kind, engine)) }
}

function columnOf({ field: { name }, column, types, stored = asIs }: Kind, engine: Engine): PlainColumn {
  return { name: column, type: types[engine], inRow: (object) => stored(object[name] ?? null, engine) }
}

export function describedTables(engine: Engine): DescribedTables {
  const columns = Object.fromEntries(
    KINDS.map(({ field: { name }, column, described }) => [name, { column, ...described?.[engine] }]),
  ) as DescribedTables['columns']
  const both = { columns: columns ?? {} }
  return { table: 'i', ...both, related: { items: { table: 'items', ...both }, others: { table: 'others', ...both } } }
}
