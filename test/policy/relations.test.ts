/** Each kind of relation says one thing in all its ways: for an object, in SQL, by values, in words, and as possible sets. */
import { expect } from 'chai'
import fc from 'fast-check'
import { heldWith, possibleRegion, possibleSets } from '../../src/analysis/possible-sets.ts'
import { Regions } from '../../src/analysis/regions.ts'
import { meets } from '../../src/decide/conditions/condition.ts'
import { kindOf, parseRelation } from '../../src/decide/relations/all-kinds.ts'
import { acceptsField, askingAs, type Relation } from '../../src/decide/relations/relation-kind.ts'
import type { Scalar } from '../../src/resources/object.ts'
import type { Json, Representation } from '../../src/resources/resource.ts'
import { drawing, runs } from '../runs.ts'
import { asOracle, DOCS, RESOURCES } from './fixture.ts'
import { relationsOf as oracleRelations } from './oracle.ts'
import type { OracleRelation, Plain } from './world.ts'

/** For a field that one relation or another compares: all that tells them apart, and a value that none names. */
const DOMAINS = {
  ownerId: [undefined, 'ann', 'bob', 'eve'],
  members: [undefined, null, ...subsetsOf(['ann', 'bob', 'eve', 'x'])],
  status: [undefined, null, 'draft', 'placed', 'gone', 'x'],
  count: [undefined, null, -1, 0, 1, 2, 3, '1'],
  secret: [
    undefined,
    null,
    'x',
    '2026-05-31T23:30:00Z',
    '2026-06-01T00:00:00Z',
    '2026-06-01T02:30:00+02:00',
    '2026-07-01T00:00:00Z',
  ],
} satisfies Readonly<Record<string, readonly (Json | undefined)[]>>

const CONSTANTS = { members: ['ann', 'bob', 'eve'], status: ['draft', 'placed', 'gone'], count: [0, 1] } as const

/** No relation of the constants looks at the time; the date-times of `secret` are around it. */
const NOW = Date.UTC(2026, 5, 1)

type Fields = keyof typeof DOMAINS
type Attributes = Readonly<Record<string, string | undefined>>

const state = fc.oneof(
  fc
    .constantFrom(...(Object.keys(CONSTANTS) as (keyof typeof CONSTANTS)[]))
    .chain((field) =>
      fc.subarray<Scalar>([...CONSTANTS[field]], { minLength: 1 }).map((values) => ({ field, in: values })),
    ),
  fc
    .constantFrom('members' as const, 'status' as const, 'count' as const)
    .map((field) => ({ field, present: true as const })),
  fc.constantFrom(
    { field: 'count' as const, atLeast: 1 },
    { field: 'count' as const, atMost: 1 },
    { field: 'count' as const, atLeast: 0, atMost: 1 },
    { field: 'count' as const, atLeast: 1, atMost: 1 },
    { field: 'count' as const, atLeast: 2 },
  ),
)
const attribute = fc.oneof(
  fc.constantFrom('ownerId', 'members', 'status'),
  fc.record({
    field: fc.constantFrom('ownerId', 'members', 'status'),
    equals: fc.constantFrom('subject.id', 'subject.team'),
  }),
)
const time = fc.constantFrom(
  { field: 'secret', before: 'now' },
  { field: 'secret', after: 'now' },
  { field: 'secret', after: 'now-1h' },
  { field: 'secret', before: 'now+1h', after: 'now-1h' },
)
const anyForm = fc.oneof(
  { weight: 3, arbitrary: state },
  { weight: 3, arbitrary: attribute },
  { weight: 1, arbitrary: time },
)
type Form = typeof anyForm extends fc.Arbitrary<infer F> ? F : never

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
    const declaration = { resource: DOCS, resources: RESOURCES, relationOf: () => undefined, fault }
    const relation = parseRelation(`r${i}`, form, declaration)
    if (!relation) throw new Error('it is sound')
    return relation
  })
}

/** The names of those that hold, as the oracle says; for a caller without credentials where there is no id. */
function holding(forms: readonly Form[], { id, team }: Attributes, of: Representation): readonly string[] {
  const relations = new Map(forms.map((form, i) => [`r${i}`, asOracleRelation(form)]))
  const policy = { roles: [], links: [], rules: [], views: new Map(), relations: new Map([['docs', relations]]) }
  const caller = { ...(id === undefined ? {} : { id }), roles: [], claims: team === undefined ? {} : { team } }
  return [...oracleRelations({ policy, resource: asOracle(DOCS), caller, now: NOW }, of as Plain)]
}

function asOracleRelation(form: Form): OracleRelation {
  if (typeof form === 'string') return { field: form, equals: 'id' }
  return 'equals' in form ? { ...form, equals: form.equals.replace('subject.', '') } : form
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
  it('holds alike for an object, as a condition, by the values that it accepts and in its explanation', async () => {
    const seen = { true: 0, false: 0 }
    await drawing(
      () =>
        fc.assert(
          fc.property(anyForm, attributes, object, (form, caller, of) => {
            const [relation] = relationsFrom([form]) as [Relation]
            const kind = kindOf(relation)
            const asking = askingAs(caller, NOW)
            const holds = holding([form], caller, of).length > 0
            seen[`${holds}`]++
            expect(meets(kind.condition(relation, asking), of)).to.equal(holds)
            const accepted = kind.accepted?.(relation, asking)
            if (accepted) expect(acceptsField(accepted, of[accepted.field])).to.equal(holds)
            if (holds) expect(kind.couldHold(relation, (name) => asking.valuesOf(name).length > 0)).to.equal(true)
            const known = {
              hasCredentials: true,
              now: NOW,
              attribute: (name: string) => ({ values: asking.valuesOf(name), isKnown: true }),
              object: { fields: of, complete: true },
              isOwnRecord: false,
              related: () => undefined,
            }
            expect(kind.explain(relation, known).holds).to.equal(holds)
          }),
          { numRuns: runs(1000) },
        ),
      () => {
        expect(Math.min(seen.true, seen.false)).to.be.greaterThan(30)
      },
    )
  })

  it('has the meaning of another one only if it holds for the same callers and objects', () => {
    fc.assert(
      fc.property(fc.array(anyForm, { minLength: 2, maxLength: 6 }), attributes, object, (forms, caller, of) => {
        const relations = relationsFrom(forms)
        const names = holding(forms, caller, of)
        for (const same of Map.groupBy(relations, (one) => kindOf(one).meaning(one)).values()) {
          expect(new Set(same.map(({ name }) => names.includes(name))).size).to.equal(1)
        }
      }),
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
        const found = objects.map((of) => holding(forms, {}, of))
        expect(textsOf(possibleSets(relations, DOCS))).to.deep.equal(textsOf(found))
      }),
      { numRuns: runs(300) },
    )
  })

  it('miss none that some caller and object have', () => {
    fc.assert(
      fc.property(fc.array(anyForm, { maxLength: 5 }), attributes, object, (forms, caller, of) => {
        const relations = relationsFrom(forms)
        const names = holding(forms, caller, of)
        expect(textsOf(possibleSets(relations, DOCS))).to.include(names.toSorted().join('+'))
      }),
      { numRuns: runs(500) },
    )
  })

  it('are the same as a region, and all that holds with some of them is known', () => {
    fc.assert(
      fc.property(fc.array(anyForm, { maxLength: 5 }), (forms) => {
        const relations = relationsFrom(forms)
        const sets = possibleSets(relations, DOCS)
        const regions = new Regions()
        const region = possibleRegion(regions, relations, DOCS, (one) => regions.where(relations.indexOf(one)))
        const inRegion = subsetsOf(relations.map(({ name }) => name)).filter((names) =>
          regions.has(region, new Set(names.map((name) => relations.findIndex((one) => one.name === name)))),
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
