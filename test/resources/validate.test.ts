/** Validation tells all faults of a value, names them by pointers that lead there, and leaves the value alone. */

import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import fc from 'fast-check'
import { pathOfPointer } from '../../src/base/json-pointer.ts'
import type { FieldFault } from '../../src/base/problems/problem.ts'
import { loadResources, parseResources } from '../../src/resources/load/load-resources.ts'
import type { Json, Representation, Resource } from '../../src/resources/resource.ts'

const THINGS = JSON.stringify({
  type: 'object',
  'x-resource': { routes: [{ path: '/things', methods: ['GET'] }] },
  properties: {
    id: { type: 'string', readOnly: true },
    createdAt: { type: 'string', readOnly: true },
    updatedAt: { type: 'string', readOnly: true },
    size: { type: 'integer', minimum: 1, multipleOf: 2, default: 2 },
    tags: { type: 'array', items: { type: 'string', maxLength: 2 }, uniqueItems: true, default: [] },
    labels: { type: 'object', propertyNames: { maxLength: 3 }, additionalProperties: { type: 'string' } },
    tree: { $ref: '#/$defs/tree' },
    choice: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    at: { type: 'string', format: 'date-time' },
    pair: { type: 'object', dependentRequired: { a: ['b'] }, maxProperties: 2 },
  },
  required: ['size'],
  if: { properties: { size: { const: 4 } }, required: ['size'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['tags'] },
  additionalProperties: false,
  $defs: {
    tree: { type: 'object', properties: { leaf: { $ref: '#/$defs/tree' } }, additionalProperties: false },
  },
})

function parseThings(): Resource {
  const things = parseResources([{ name: 'things.json', text: THINGS }]).byName.get('things')
  if (!things) throw new Error('no resource')
  return things
}

function summary(faults: readonly FieldFault[]): readonly string[] {
  return faults.map(({ pointer, code }) => `${pointer} ${code}`)
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}

const MISSING = Symbol('missing')

function resolve(value: Json, pointer: string): Json | typeof MISSING {
  return pathOfPointer(pointer).reduce<Json | typeof MISSING>((at, key) => {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return MISSING
    return (at as Readonly<Record<string, Json>>)[key] as Json
  }, value)
}

/** The value at fault exists; a field that is required doesn't, but the object that lacks it does. */
function leadsThere(value: Json, { pointer, code }: FieldFault): boolean {
  if (code !== 'required' && code !== 'dependentRequired') return resolve(value, pointer) !== MISSING
  const parent = resolve(value, pointer.slice(0, pointer.lastIndexOf('/')))
  return parent !== MISSING && resolve(value, pointer) === MISSING
}

const FIELD_NAMES = [
  ...['id', 'size', 'tags', 'labels', 'tree', 'choice', 'pair', 'ownerId', 'title', 'items', 'status', 'email'],
  ...['__proto__', 'constructor', 'toString', 'a/b', 'm~n', '', '0', 'leaf', 'a', 'sku'],
]

/** JSON whose keys are often fields, so that validation gets past the first key. */
const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json; object: Representation }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<Json>(null, true, 0, -1, 1.5, 2, 4, 1e300, '', 'a', 'EUR', 'draft', '\ud800', 'x'.repeat(300)),
    fc.string(),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc
    .uniqueArray(fc.tuple(fc.oneof(fc.constantFrom(...FIELD_NAMES), fc.string()), tie('value')), {
      maxLength: 6,
      selector: ([key]) => key,
    })
    .map((entries) => Object.fromEntries(entries) as Representation),
})).value

describe('validation', () => {
  const things = parseThings()
  let all: readonly Resource[]

  before(async () => {
    const shipped = await loadResources(fileURLToPath(new URL('../../schemas/', import.meta.url)))
    all = [...shipped.byName.values(), things]
  })

  it('takes the times that lists can compare, as RFC 3339 writes them', () => {
    const isTaken = (at: string) => parseThings().validate({ size: 2, at }).length === 0
    for (const at of ['2026-01-01T00:00:00Z', '2026-01-01 00:00:00.5+01:00', '2024-02-29t23:59:59z'])
      expect(isTaken(at), at).to.equal(true)
    for (const at of [
      '2026-01-01T00:00:00+0100',
      '2026-01-01T00:00:00+01',
      '2026-01-01\n00:00:00Z',
      '2026-02-29T00:00:00Z',
    ])
      expect(isTaken(at), at).to.equal(false)
  })

  it('never throws, never changes the value, and points at what is wrong, whatever the JSON', () => {
    fc.assert(
      fc.property(json, (value) => {
        const before = JSON.stringify(value)
        deepFreeze(value)
        for (const { validate } of all) {
          const faults = validate(value as Representation)
          expect(JSON.stringify(value)).to.equal(before)
          for (const fault of faults) expect(leadsThere(value, fault), JSON.stringify(fault)).to.equal(true)
          expect(new Set(faults.map((fault) => JSON.stringify(fault))).size).to.equal(faults.length)
          expect(faults).to.have.length.lessThanOrEqual(100)
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('the check of pointers can fail (negative control)', () => {
    const fault = { pointer: '/b', detail: '', code: 'type' }
    expect(leadsThere({ a: 1 }, fault)).to.equal(false)
    expect(leadsThere({ b: 1 }, { ...fault, code: 'required' })).to.equal(false)
    expect(leadsThere({ b: 1 }, fault)).to.equal(true)
  })

  it('gives the same answer when it is asked again', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(things.validate(value as Representation)).to.deep.equal(things.validate(value as Representation))
      }),
      { numRuns: 200 },
    )
  })

  it('tells all faults at once, each at its place', () => {
    const faults = things.validate({
      size: -1,
      tags: ['a', 'abc', 1],
      labels: { long_name: 'x', 'a/b': 1 },
      tree: { leaf: { leaf: {}, root: 1 } },
      choice: true,
      pair: { a: 1 },
      other: 1,
    })
    expect(summary(faults).toSorted()).to.deep.equal([
      '/choice anyOf',
      '/choice type',
      '/choice type',
      '/labels/a~1b type',
      '/labels/long_name maxLength',
      '/other additionalProperties',
      '/pair/b dependentRequired',
      '/size minimum',
      '/size multipleOf',
      '/tags/1 maxLength',
      '/tags/2 type',
      '/tree/leaf/root additionalProperties',
    ])
  })

  it('tells the first fault alone of a large value, and takes a large value that fits', () => {
    const tags = (count: number, tag: (i: number) => Json) => ({
      size: 2,
      tags: Array.from({ length: count }, (_, i) => tag(i)),
    })
    expect(things.validate(tags(90, () => 1)).length).to.be.above(80)
    expect(summary(things.validate(tags(20_000, () => 1)))).to.deep.equal(['/tags/0 type'])
    const [first, ...others] = things.validate(Object.fromEntries(Array.from({ length: 8000 }, (_, i) => [`u${i}`, 1])))
    expect(others).to.deep.equal([])
    expect(first?.code).to.be.oneOf(['required', 'additionalProperties'])
    expect(things.validate(tags(1500, (i) => String.fromCodePoint(0x4e00 + i)))).to.deep.equal([])
  })

  it('says it in a short sentence', () => {
    const faults = things.validate({ size: 0, tags: ['a', 'a'], other: 1, choice: true })
    expect(faults.map(({ detail }) => detail)).to.deep.equal([
      'is not accepted here',
      'must be >= 1',
      'must not have the same item twice',
      'must be of the type string',
      'must be of the type integer',
      'must match a schema in anyOf',
    ])
  })

  it('of a condition it tells what is missing', () => {
    expect(summary(things.validate({ size: 4 }))).to.deep.equal(['/tags required'])
    expect(things.validate({ size: 2 })).to.deep.equal([])
  })

  it('puts no defaults in', () => {
    const value = { size: 2 }
    things.validate(value)
    expect(value).to.deep.equal({ size: 2 })
  })

  it('takes nothing for a field that the value merely inherits', () => {
    expect(summary(things.validate(Object.create({ size: 2 })))).to.deep.equal(['/size required'])
  })

  it('refuses `__proto__` and `constructor` as the fields they are', () => {
    const value = JSON.parse('{"size": 2, "__proto__": {"admin": true}, "constructor": 1}')
    expect(summary(things.validate(value))).to.deep.equal([
      '/__proto__ additionalProperties',
      '/constructor additionalProperties',
    ])
  })

  it('tells at most 100 faults', () => {
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`x${i}`, i]))
    expect(things.validate({ size: 2, ...many })).to.have.length(100)
  })
})
