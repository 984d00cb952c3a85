/** What each step of a migration makes of a document, and what holds for all documents. */
import { expect } from 'chai'
import fc from 'fast-check'
import { applyStep, changeObject, StepRefused } from '../../src/migrations/steps/apply-step.ts'
import type { Migration, MigrationStep } from '../../src/migrations/steps/step.ts'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import type { Document } from '../../src/resources/object.ts'
import type { Json } from '../../src/resources/resource.ts'
import { UnfitObject } from '../../src/store/errors.ts'
import { runs } from '../runs.ts'

const CASES: readonly (readonly [string, MigrationStep, Document, Document | undefined | RegExp])[] = [
  ['rename', { rename: { from: 'a', to: 'b' } }, { a: 1, c: 2 }, { b: 1, c: 2 }],
  ['rename without the field', { rename: { from: 'a', to: 'b' } }, { c: 2 }, { c: 2 }],
  ['rename to a field with the same value', { rename: { from: 'a', to: 'b' } }, { a: [1], b: [1] }, { b: [1] }],
  ['rename to a field with another value', { rename: { from: 'a', to: 'b' } }, { a: 1, b: 2 }, /another value already/],
  ['copy', { copy: { from: 'a', to: 'b' } }, { a: 1 }, { a: 1, b: 1 }],
  ['copy to a field that is there', { copy: { from: 'a', to: 'b' } }, { a: 1, b: 2 }, { a: 1, b: 2 }],
  ['default', { default: { field: 'a', value: 'x' } }, {}, { a: 'x' }],
  ['default of a field that is there', { default: { field: 'a', value: 'x' } }, { a: null }, { a: null }],
  ['map', { map: { field: 'a', values: [{ from: 1, to: 'one' }] } }, { a: 1 }, { a: 'one' }],
  [
    'map by value and type',
    { map: { field: 'a', values: [{ from: 1, to: 'one' }] } },
    { a: '1' },
    /doesn't list: `"1"`/,
  ],
  ['map of others', { map: { field: 'a', values: [{ from: 1, to: 2 }], others: 'keep' } }, { a: 7 }, { a: 7 }],
  ['map of a missing field', { map: { field: 'a', values: [{ from: 1, to: 2 }] } }, { b: 1 }, { b: 1 }],
  [
    'map of an object',
    { map: { field: 'a', values: [{ from: { x: 1, y: 2 }, to: 0 }] } },
    { a: { y: 2, x: 1 } },
    { a: 0 },
  ],
  ['drop', { drop: ['a', 'b'] }, { a: 1, c: 2 }, { c: 2 }],
  ['list', { list: ['a'] }, { a: 1 }, { a: [1] }],
  ['list of a list', { list: ['a'] }, { a: [1, 2] }, { a: [1, 2] }],
  ['single', { single: ['a'] }, { a: [1] }, { a: 1 }],
  ['single of an empty list', { single: ['a'] }, { a: [], b: 1 }, { b: 1 }],
  ['single of two elements', { single: ['a'] }, { a: [1, 2] }, /has 2 elements/],
  ['delete', { delete: { where: { a: [1, 2] } } }, { a: 2 }, undefined],
  ['delete where all fields fit', { delete: { where: { a: [1], b: [2] } } }, { a: 1 }, { a: 1 }],
  ['a field called __proto__', { rename: { from: 'a', to: '__proto__' } }, { a: 1 }, JSON.parse('{"__proto__":1}')],
]

describe('a step of a migration', () => {
  for (const [name, step, before, after] of CASES) {
    it(`does what its name says: ${name}`, () => {
      if (after instanceof RegExp) expect(() => applyStep(before, step)).to.throw(StepRefused, after)
      else expect(text(applyStep(before, step))).to.equal(text(after))
    })
  }

  it('leaves its argument as it is, and changes no field that it does not name', () => {
    fc.assert(
      fc.property(documents(), steps(), (document, step) => {
        const before = JSON.stringify(document)
        const after = tried(document, step)
        expect(JSON.stringify(document)).to.equal(before)
        if (after instanceof StepRefused || after === undefined) return
        const named = JSON.stringify(step)
        for (const name of new Set([...Object.keys(document), ...Object.keys(after)])) {
          if (!named.includes(JSON.stringify(name))) expect(after[name]).to.deep.equal(document[name])
        }
      }),
      { numRuns: runs(3000) },
    )
  })

  it('rename and back is the identity, places of fields included', () => {
    fc.assert(
      fc.property(documents(), fc.tuple(names(), names()), (document, [from, to]) => {
        fc.pre(from !== to && !Object.hasOwn(document, to))
        const there = applyStep(document, { rename: { from, to } }) as Document
        expect(text(applyStep(there, { rename: { from: to, to: from } }))).to.equal(text(document))
      }),
      { numRuns: runs(2000) },
    )
  })

  it('list and back is the identity, unless the value is a list already', () => {
    fc.assert(
      fc.property(documents(), names(), (document, name) => {
        fc.pre(!Array.isArray(document[name]))
        const there = applyStep(document, { list: [name] }) as Document
        expect(text(applyStep(there, { single: [name] }))).to.equal(text(document))
      }),
      { numRuns: runs(2000) },
    )
  })

  it('map is total or refuses: afterwards each value is one of its results', () => {
    const values = fc.array(fc.record({ from: scalars(), to: scalars() }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(documents(), names(), values, (document, field, pairs) => {
        const after = tried(document, { map: { field, values: pairs } })
        const listed = Object.hasOwn(document, field) && pairs.some(({ from }) => from === document[field])
        if (!Object.hasOwn(document, field)) expect(after).to.equal(document)
        else if (!listed) expect(after).to.be.instanceOf(StepRefused)
        else expect(pairs.map(({ to }) => to)).to.include((after as Document)[field] as Json)
      }),
      { numRuns: runs(2000) },
    )
  })
})

const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Note',
  type: 'object',
  'x-resource': { routes: [{ path: '/api/notes', methods: ['GET'] }] },
  properties: {
    id: { type: 'string', readOnly: true },
    title: { type: 'string' },
    createdAt: { type: 'string', format: 'date-time', readOnly: true },
    updatedAt: { type: 'string', format: 'date-time', readOnly: true },
  },
  required: ['title'],
  additionalProperties: false,
}

describe('the migrations of an object', () => {
  const { byName } = parseResources([{ name: 'notes.json', text: JSON.stringify(SCHEMA) }])
  const notes = byName.get('notes') ?? expect.fail()
  const at = '2026-01-01T00:00:00.000Z'
  const note = (document: Document) => ({ id: 'n1', version: 1, createdAt: at, updatedAt: at, document })

  it('are done in their order, and the result is checked after the last one alone', () => {
    const migrations = [
      migration(1, { rename: { from: 'name', to: 'heading' } }),
      migration(2, { drop: ['size'] }),
      migration(3, { rename: { from: 'heading', to: 'title' } }),
    ]
    expect(changeObject(notes, note({ name: 'x' }), migrations)).to.deep.equal({
      kind: 'rewrite',
      document: { title: 'x' },
      by: [1, 3],
    })
    expect(changeObject(notes, note({ title: 'x' }), migrations)).to.deep.equal({ kind: 'keep' })
  })

  it('stop at an object that does not fit afterwards, with its id and the reason', () => {
    const unfit = () => changeObject(notes, note({ title: 'x', size: 1 }), [migration(1, { drop: ['other'] })])
    expect(unfit).to.throw(UnfitObject, /^`n1` of `notes` does not fit: /)
    const refused = () =>
      changeObject(notes, note({ title: 'x' }), [
        migration(1, { map: { field: 'title', values: [{ from: 'y', to: 'z' }] } }),
      ])
    expect(refused).to.throw(
      UnfitObject,
      '`n1` of `notes` does not fit: `title` has a value that `map` doesn\'t list: `"x"`',
    )
  })
})

function migration(number: number, ...list: readonly MigrationStep[]): Migration {
  const name = `000${number}-x`
  return { number, name, digest: '', description: undefined, steps: new Map([['notes', list]]) }
}

/** With the places of the fields. */
function text(value: unknown): string | undefined {
  return JSON.stringify(value)
}

function tried(document: Document, step: MigrationStep): Document | undefined | StepRefused {
  try {
    return applyStep(document, step)
  } catch (error) {
    if (error instanceof StepRefused) return error
    throw error
  }
}

/** Few names, so that steps and documents meet. */
function names(): fc.Arbitrary<string> {
  return fc.constantFrom('alpha', 'beta', 'gamma', '__proto__', 'constructor')
}

function scalars(): fc.Arbitrary<Json> {
  return fc.constantFrom<Json>('x', 'y', 1, true, null)
}

function documents(): fc.Arbitrary<Document> {
  const values = fc.oneof(
    scalars(),
    fc.array(scalars(), { maxLength: 2 }),
    fc.dictionary(names(), scalars(), { maxKeys: 2 }),
  )
  const entries = fc.uniqueArray(fc.tuple(names(), values), { selector: ([name]) => name, maxLength: 4 })
  return entries.map((all) => Object.fromEntries(all) as Document)
}

function steps(): fc.Arbitrary<MigrationStep> {
  const move = fc.record({ from: names(), to: names() })
  const several = fc.uniqueArray(names(), { minLength: 1, maxLength: 2 })
  const values = fc.array(fc.record({ from: scalars(), to: scalars() }), { minLength: 1, maxLength: 3 })
  return fc.oneof(
    fc.record({ rename: move }),
    fc.record({ copy: move }),
    fc.record({ default: fc.record({ field: names(), value: scalars() }) }),
    fc.record({ map: fc.record({ field: names(), values, others: fc.constant<'keep'>('keep') }) }),
    fc.record({ drop: several }),
    fc.record({ list: several }),
    fc.record({ single: several }),
    fc.record({
      delete: fc.record({
        where: fc.dictionary(names(), fc.array(scalars(), { minLength: 1 }), { minKeys: 1, maxKeys: 2 }),
      }),
    }),
  )
}
