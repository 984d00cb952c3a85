/** Each kind of relation says one thing in all its ways: for an object, in SQL, by values, in words, and as possible sets. */
import { expect } from 'chai'
import fc from 'fast-check'
import { meets } from '../../src/decide/condition.ts'
import { kindOf, parseRelation, type Relation } from '../../src/decide/relations/all-kinds.ts'
import { acceptsField } from '../../src/decide/relations/compared-field.ts'
import { heldWith, possibleSets } from '../../src/decide/relations/possible-sets.ts'
import { possibleRegion, regionsOf } from '../../src/decide/relations/regions.ts'
import type { Scalar } from '../../src/resources/object.ts'
import type { Json, Representation } from '../../src/resources/resource.ts'
import { runs } from '../runs.ts'
import { DOCS } from './fixture.ts'

/** For a field that one relation or another compares: all that tells them apart, and a value that none names. */
const DOMAINS = {
  ownerId: [undefined, 'ann', 'bob', 'eve'],
  members: [undefined, null, ...subsetsOf(['ann', 'bob', 'eve', 'x'])],
  status: [undefined, null, 'draft', 'placed', 'gone', 'x'],
  count: [undefined, 0, 1, 2, '1'],
} satisfies Readonly<Record<string, readonly (Json | undefined)[]>>

const CONSTANTS = { members: ['ann', 'bob', 'eve'], status: ['draft', 'placed', 'gone'], count: [0, 1] } as const

type Fields = keyof typeof DOMAINS

const state = fc
  .constantFrom(...(Object.keys(CONSTANTS) as (keyof typeof CONSTANTS)[]))
  .chain((field) =>
    fc.subarray<Scalar>([...CONSTANTS[field]], { minLength: 1 }).map((values) => ({ field, in: values })),
  )
const attribute = fc.oneof(
  fc.constantFrom('ownerId', 'members', 'status'),
  fc.record({
    field: fc.constantFrom('ownerId', 'members', 'status'),
    equals: fc.constantFrom('subject.id', 'subject.team'),
  }),
)

const object = fc
  .record(
    Object.fromEntries(
      Object.entries(DOMAINS).map(([name, values]) => [name, fc.constantFrom<Json | undefined>(...values)]),
    ),
  )
  .map(
    (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Representation,
  )
const attributes = fc.record({ id: fc.constantFrom('ann', 'eve'), team: fc.constantFrom(undefined, 'bob', 'draft') })

function relationsFrom(forms: readonly unknown[]): readonly Relation[] {
  return forms.map((form, i) => {
    const fault = (_: unknown, code: string) => {
      throw new Error(code)
    }
    const relation = parseRelation(`r${i}`, form, { resource: DOCS, fault })
    if (!relation) throw new Error('it is sound')
    return relation
  })
}

function holding(
  relations: readonly Relation[],
  attributeOf: (name: string) => Scalar | undefined,
  of: Representation,
) {
  return relations.filter((one) => kindOf(one).holds(one, attributeOf, of)).map(({ name }) => name)
}

function textsOf(sets: Iterable<Iterable<string>>): readonly string[] {
  return [...new Set([...sets].map((set) => [...set].toSorted().join('+')))].toSorted()
}

/** Every object of these fields. */
function objectsOf(fields: readonly Fields[]): readonly Representation[] {
  return fields.reduce<readonly Representation[]>(
    (some, field) =>
      some.flatMap((one) =>
        DOMAINS[field].map((value) => (value === undefined ? one : { ...one, [field]: value as Json })),
      ),
    [{}],
  )
}

describe('a relation', () => {
  it('holds alike for an object, as a condition, by the values that it accepts and in its explanation', () => {
    const seen = { true: 0, false: 0 }
    fc.assert(
      fc.property(fc.oneof(state, attribute), attributes, object, (form, caller, of) => {
        const [relation] = relationsFrom([form]) as [Relation]
        const kind = kindOf(relation)
        const attributeOf = (name: string) => caller[name as keyof typeof caller]
        const holds = kind.holds(relation, attributeOf, of)
        seen[`${holds}`]++
        expect(meets(kind.condition(relation, attributeOf), of)).to.equal(holds)
        const accepted = kind.accepted?.(relation, attributeOf)
        if (accepted) expect(acceptsField(accepted, of[accepted.field])).to.equal(holds)
        if (holds) expect(kind.couldHold(relation, (name) => attributeOf(name) !== undefined)).to.equal(true)
        const known = {
          hasCredentials: true,
          attribute: (name: string) => ({ value: attributeOf(name), isKnown: true }),
          object: { fields: of, complete: true },
          isOwnRecord: false,
        }
        expect(kind.explain(relation, known).holds).to.equal(holds)
      }),
      { numRuns: runs(1000) },
    )
    expect(Math.min(seen.true, seen.false)).to.be.greaterThan(30)
  })

  it('has the meaning of another one only if it holds for the same callers and objects', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(state, attribute), { minLength: 2, maxLength: 6 }),
        attributes,
        object,
        (...drawn) => {
          const [forms, caller, of] = drawn
          const relations = relationsFrom(forms)
          const names = holding(relations, (name) => caller[name as keyof typeof caller], of)
          for (const same of Map.groupBy(relations, (one) => kindOf(one).meaning(one)).values()) {
            expect(new Set(same.map(({ name }) => names.includes(name))).size).to.equal(1)
          }
        },
      ),
      { numRuns: runs(500) },
    )
  })
})

describe('the sets of relations that can hold together', () => {
  it('are just those that some object has, where no relation is about the caller', () => {
    fc.assert(
      fc.property(fc.array(state, { minLength: 1, maxLength: 5 }), (forms) => {
        const relations = relationsFrom(forms)
        const objects = objectsOf([...new Set(forms.map(({ field }) => field))])
        const found = objects.map((of) => holding(relations, () => undefined, of))
        expect(textsOf(possibleSets(relations, DOCS))).to.deep.equal(textsOf(found))
      }),
      { numRuns: runs(300) },
    )
  })

  it('miss none that some caller and object have', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(state, attribute), { maxLength: 5 }), attributes, object, (forms, caller, of) => {
        const relations = relationsFrom(forms)
        const names = holding(relations, (name) => caller[name as keyof typeof caller], of)
        expect(textsOf(possibleSets(relations, DOCS))).to.include(names.toSorted().join('+'))
      }),
      { numRuns: runs(500) },
    )
  })

  it('are the same as a region of bits, and all that holds with some of them is known', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(state, attribute), { maxLength: 5 }), (forms) => {
        const relations = relationsFrom(forms)
        const sets = possibleSets(relations, DOCS)
        const region = possibleRegion(relations, DOCS, regionsOf(relations.length))
        const inRegion = Array.from({ length: 2 ** relations.length }, (_, set) => set).flatMap((set) =>
          (region >> BigInt(set)) & 1n ? [relations.filter((_, i) => (set >> i) & 1).map(({ name }) => name)] : [],
        )
        expect(textsOf(inRegion)).to.deep.equal(textsOf(sets))
        for (const { name } of relations) {
          const around = sets.filter((set) => set.has(name))
          const held = heldWith(new Set([name]), relations, DOCS)
          const shared = relations.filter((one) => around.every((set) => set.has(one.name)))
          expect([...(held ?? [])].toSorted()).to.deep.equal(shared.map((one) => one.name).toSorted())
        }
      }),
      { numRuns: runs(300) },
    )
  })

  it('leave out what no value makes hold together, and always have what holds for the own record', () => {
    const relations = relationsFrom([{ field: 'status', in: ['draft'] }, { field: 'status', in: ['placed'] }, 'id'])
    expect(textsOf(possibleSets(relations, DOCS))).to.deep.equal(['', 'r0', 'r0+r2', 'r1', 'r1+r2', 'r2'])
    expect(textsOf(possibleSets(relations, DOCS, { ownRecord: true }))).to.deep.equal(['r0+r2', 'r1+r2', 'r2'])
    expect(heldWith(new Set(['r0', 'r1']), relations, DOCS)).to.equal(undefined)
  })
})

function subsetsOf(values: readonly string[]): readonly (readonly string[])[] {
  return values.reduce<readonly (readonly string[])[]>(
    (some, one) => some.concat(some.map((set) => [...set, one])),
    [[]],
  )
}
