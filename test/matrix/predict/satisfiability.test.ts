/** Ways to relate are solved together: what some object can be is found or said to be open, and is never impossible. */
import { expect } from 'chai'
import fc from 'fast-check'
import { namedRelations, possibleSets } from '../../../src/analysis/possible-sets.ts'
import { lookUpIn, meets } from '../../../src/decide/conditions/condition.ts'
import type { Ownership, Policy } from '../../../src/decide/policy.ts'
import { comparedAttributes, comparedFields, kindOf } from '../../../src/decide/relations/all-kinds.ts'
import { askingAs } from '../../../src/decide/relations/relation-kind.ts'
import type { Json, Representation, Resource } from '../../../src/resources/resource.ts'
import { rowsOf } from '../../../src/tools/matrix/cells/rows.ts'
import { attributesIn, callerRecords, comparedIn } from '../../../src/tools/matrix/fixture/caller-record.ts'
import { relatedFixture } from '../../../src/tools/matrix/fixture/related-fixture.ts'
import { CALLER, idSeries, OBJECT } from '../../../src/tools/matrix/fixture/samples.ts'
import { satisfiability } from '../../../src/tools/matrix/fixture/satisfiability.ts'
import type { PlacedObject } from '../../../src/tools/matrix/fixture/wanted-object.ts'
import { drawing, runs } from '../../runs.ts'
import { closureOf, KINDS, KNOWN, policyWith, RELATIONS } from './kinds.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const NOW = Date.now()

function at(offset: number): string {
  return new Date(NOW + offset).toISOString()
}

/** The boxes with every combination of lead, state and seats. */
const BOX_WAYS = ['lead', ''].flatMap((lead) =>
  ['open', 'shut'].flatMap((state) => ['', 'viewer', 'editor'].map((seat) => ({ lead, state, seat }))),
)
const BOX_IDS = BOX_WAYS.map(({ lead, state, seat }) => `${lead}-${state}-${seat}`)

/** What every thing may rest on. */
const WORLD: Readonly<Record<string, readonly Representation[]>> = {
  boxes: BOX_WAYS.map(({ lead, state }, i) => ({ id: BOX_IDS[i] ?? '', state, leadId: lead === '' ? 'zoe' : CALLER })),
  seats: BOX_WAYS.flatMap(({ seat }, i) =>
    seat === '' ? [] : [{ id: `s${i}`, boxId: BOX_IDS[i] ?? '', userId: CALLER, rank: seat }],
  ),
  things: [
    { id: 'mine', ownerId: CALLER },
    { id: 'theirs', ownerId: 'zoe' },
    { id: 'under', ownerId: 'zoe', parentId: 'mine' },
  ],
}

/** Values that tell all relations of kinds.ts apart; undefined for an object without the field. */
const DOMAINS: Readonly<Record<string, readonly (Json | undefined)[]>> = {
  id: ['o1', CALLER, '01980000-0000-7000-8000-0000000000ff'],
  ownerId: [CALLER, 'zoe'],
  members: [
    undefined,
    [],
    [CALLER],
    ['guest'],
    ['host'],
    ['zoe'],
    [CALLER, 'guest'],
    [CALLER, 'host'],
    ['host', 'guest'],
  ],
  team: ['red', 'green', 'blue'],
  spare: [undefined, 'red', 'green', 'blue'],
  status: ['draft', 'placed', 'shipped'],
  shape: ['round', 'square'],
  grade: [0, 1, 2, 3, 4, 6],
  open: [true, false],
  flags: [undefined, [], ['new'], ['old'], ['new', 'hot']],
  title: [undefined, null, 'it', 'other'],
  level: [0, 1, 2, 3],
  lit: [true, false],
  boss: [undefined, CALLER, 'zoe'],
  due: [undefined, at(-40 * DAY), at(-2 * DAY), at(-HOUR / 2), at(HOUR / 2), at(2 * DAY)],
  boxId: [undefined, 'gone', ...BOX_IDS],
  boxes: [undefined, [], ...BOX_IDS.map((id) => [id])],
  parentId: [undefined, 'mine', 'theirs', 'under'],
}
const OPTIONAL: Readonly<Record<string, readonly (Json | undefined)[]>> = { team: [undefined, 'red', 'green', 'blue'] }
const ATTRIBUTES = {
  team: [undefined, 'red', 'green', 'blue'],
  level: [undefined, 0, 2, 3, 4, 6],
  lit: [undefined, true, false],
  teams: [undefined, ['red'], ['green'], ['blue'], ['red', 'green'], ['red', 'blue'], ['green', 'blue']],
}

function domainOf(resource: Resource, field: string): readonly (Json | undefined)[] {
  return (resource.name === 'users' ? OPTIONAL[field] : undefined) ?? DOMAINS[field] ?? [undefined]
}

/** Every combination of these values. */
function products(domains: Readonly<Record<string, readonly (Json | undefined)[]>>): readonly Representation[] {
  return Object.entries(domains).reduce<readonly Representation[]>(
    (some, [name, values]) =>
      some.flatMap((one) => values.map((value) => (value === undefined ? one : { ...one, [name]: value }))),
    [{}],
  )
}

function worldOf(placed: readonly PlacedObject[]): typeof WORLD {
  const some = Map.groupBy(placed, ({ resource }) => resource)
  return Object.fromEntries([...some].map(([name, all]) => [name, all.map(({ object }) => object)]))
}

/** The relations that hold for an object among those of WORLD. */
function holdingFor(
  owned: Ownership | undefined,
  attributes: Representation,
  object: Representation,
  objects = WORLD,
): readonly string[] {
  const asking = askingAs(attributes, NOW)
  const lookUp = lookUpIn((name) => [...(objects[name] ?? []), ...(name === 'things' ? [object] : [])])
  return [...(owned?.relations.values() ?? [])]
    .filter((relation) => meets(kindOf(relation).condition(relation, asking), object, lookUp))
    .map(({ name }) => name)
}

/** The sets of relations that some caller and some valid object have, found by trying all values. */
function achieved({ ownership }: Policy, resource: Resource): ReadonlySet<string> {
  const owned = ownership.get(resource.name)
  const relations = [...(owned?.relations.values() ?? [])]
  const attributes = new Set(relations.flatMap(comparedAttributes))
  const compared = new Set([
    'id',
    ...relations.flatMap(comparedFields),
    ...(resource.name === 'users' ? attributes : []),
  ])
  const callers = products(Object.fromEntries(Object.entries(ATTRIBUTES).filter(([name]) => attributes.has(name))))
  const setsOf = (object: Representation) =>
    callers.map((claims) => {
      // The caller's own record alone gives the attributes.
      const has: Representation = resource.name === 'users' && object.id === CALLER ? object : claims
      return holdingFor(owned, { ...has, id: CALLER }, object)
        .toSorted()
        .join('+')
    })
  const faultsIn = (object: Representation) =>
    resource.validate(object).flatMap(({ pointer }) => pointer.slice(1).split('/')[0] ?? '')
  const domains = [...compared].map((name) => {
    const told = (object: Representation) => [faultsIn(object).includes(name), setsOf(object)]
    const values = domainOf(resource, name)
    return [name, resource.name === 'users' ? values : toldApart(name, values, told)] as const
  })
  const objects = products(Object.fromEntries(domains))
  return new Set(objects.filter((object) => !faultsIn(object).some((name) => compared.has(name))).flatMap(setsOf))
}

/**
 * One of each kind of values that no caller's relations tell apart. Beside other fields they stay alike: a relation looks
 * at one field, or follows from relations of the same policy that do. A users record is more: its fields are attributes.
 */
function toldApart(
  name: string,
  values: readonly (Json | undefined)[],
  told: (object: Representation) => unknown,
): readonly (Json | undefined)[] {
  const kinds = Map.groupBy(values, (value) => JSON.stringify(told(value === undefined ? {} : { [name]: value })))
  return [...kinds.values()].map(([first]) => first)
}

const randomRelations = fc.constantFrom<'things' | 'users'>('things', 'things', 'things', 'users').chain((name) =>
  fc.record({
    name: fc.constant(name),
    names: fc.subarray(Object.keys(RELATIONS[name]), { minLength: 1, maxLength: 5 }),
    asked: fc.nat(31),
  }),
)

function policyOf(name: 'things' | 'users', names: readonly string[], rules = ''): Policy {
  return policyWith(closureOf(name, names), rules)
}

function resourceOf(name: string): Resource {
  const resource = KINDS.byName.get(name)
  if (!resource) throw new Error('there is one')
  return resource
}

describe('how callers can relate to objects', () => {
  it('is never called impossible where some object is so, and never called possible where none is', async () => {
    const seen = { related: 0, impossible: 0, unsolved: 0 }
    await drawing(
      () =>
        fc.assert(
          fc.property(randomRelations, ({ name, names }) => {
            const policy = policyOf(name, names)
            const resource = resourceOf(name)
            const possible = achieved(policy, resource)
            const declared = [...(policy.ownership.get(name)?.relations.keys() ?? [])]
            const all = declared.reduce<readonly string[][]>(
              (sets, one) => sets.concat(sets.map((set) => [...set, one])),
              [[]],
            )
            for (const set of all) {
              const kind = satisfiability(policy.ownership.get(name), KNOWN, {
                resource,
                relations: new Set(set),
                own: false,
              })
              seen[kind]++
              const text = set.toSorted().join('+')
              expect(kind, `${name} ${names}: ${text}`).to.not.equal(possible.has(text) ? 'impossible' : 'related')
            }
          }),
          { numRuns: runs(300) },
        ),
      () => {
        expect(seen.related).to.be.greaterThan(100)
        expect(seen.impossible).to.be.greaterThan(20)
        // Only what needs an attribute that nobody can be given stays open.
        expect(seen.unsolved).to.be.lessThan((seen.related + seen.impossible) / 4)
      },
    )
  })

  it('is found for a caller whose record makes no other relation hold', async () => {
    let records = 0
    const isSo = (ownership: Ownership | undefined, relations: ReadonlySet<string>) => {
      const [resource, samples] = [resourceOf('things'), KNOWN.samples.get('things')]
      if (!samples) throw new Error('there are some')
      const about = { ...KNOWN, samplesOf: KNOWN.samples, ownership, now: NOW }
      const wanted = { ...about, resource, samples, relations, own: false, id: 'o1', newId: idSeries(OBJECT) }
      const found = relatedFixture({ ...wanted, callerId: CALLER })
      if (found.kind !== 'related' || Object.keys(found.attributes).length === 0) return
      records += 1
      const [record = {}] = callerRecords(about, CALLER, found.attributes).take(1)
      expect(attributesIn(record, comparedIn(ownership))).to.deep.equal(found.attributes)
      const attributes = { ...found.attributes, id: CALLER } as Representation
      expect(new Set(holdingFor(ownership, attributes, found.object, worldOf(found.others)))).to.deep.equal(relations)
    }
    await drawing(
      () =>
        fc.assert(
          fc.property(fc.subarray(Object.keys(RELATIONS.things), { minLength: 1, maxLength: 5 }), (names) => {
            const ownership = policyOf('things', names).ownership.get('things')
            const sets = possibleSets([...(ownership?.relations.values() ?? [])], resourceOf('things'))
            for (const relations of sets.slice(0, 8)) isSo(ownership, relations)
          }),
          { numRuns: runs(100) },
        ),
      () => {
        expect(records).to.be.greaterThan(5)
      },
    )
  })

  it('is a row of the matrix for each way that rules tell apart', () => {
    fc.assert(
      fc.property(randomRelations, ({ name, names, asked }) => {
        const named = names.filter((_, i) => (asked >> i) % 2 === 1)
        const rules = named.map((one) => `p, clerk, ${name}, read, ${one}, *, allow\n`).join('')
        const policy = policyOf(name, names, rules)
        const resource = resourceOf(name)
        const read = resource.actions.get('read')
        if (!read) throw new Error('there is one')
        const found = namedRelations(policy, resource, read).map((relation) => relation.name)
        expect(found.toSorted()).to.deep.equal(named.toSorted())
        const states = rowsOf(policy, KNOWN)
          .filter(
            ({ routeMethod }) =>
              routeMethod.route.path === `/${name}/{id}` && routeMethod.endpoint.operation === 'read',
          )
          .map(({ object }) => (object.kind === 'relations' ? object.names : object.kind === 'other' ? [] : undefined))
        const told = (set: readonly string[]) =>
          set
            .filter((one) => named.includes(one))
            .toSorted()
            .join('+')
        const stated = new Set(states.flatMap((set) => (set ? [told(set)] : [])))
        for (const set of achieved(policy, resource)) expect(stated).to.include(told(set.split('+')))
      }),
      { numRuns: runs(200) },
    )
  })

  it('makes objects that relate just so, and that the schema accepts', () => {
    const kept = ['owner', 'member', 'guest', 'team', 'red', 'draft', 'shipped', 'level', 'shut', 'fresh']
    const policy = policyOf('things', kept)
    const [resource, samples] = [resourceOf('things'), KNOWN.samples.get('things')]
    if (!samples) throw new Error('there are some')
    const ownership = policy.ownership.get('things')
    const sets = possibleSets([...(ownership?.relations.values() ?? [])], resource)
    expect(sets.length).to.be.greaterThan(300)
    for (const relations of sets) {
      const common = {
        ...KNOWN,
        samplesOf: KNOWN.samples,
        resource,
        samples,
        ownership,
        relations,
        own: false,
        id: 'o1',
        now: NOW,
        newId: idSeries(OBJECT),
      }
      const found = relatedFixture({ ...common, callerId: CALLER })
      if (found.kind !== 'related') throw new Error(`${[...relations]}: ${found.why}`)
      const { object, attributes, others } = found
      const holding = holdingFor(ownership, { ...attributes, id: CALLER } as Representation, object, worldOf(others))
      expect(new Set(holding)).to.deep.equal(relations)
      expect(resource.validate(object).filter(({ pointer }) => pointer !== '/id')).to.deep.equal([])
    }
  })

  it('knows two states of one field, a third that is neither, and that nothing is both', () => {
    const policy = policyOf('things', ['draft', 'shipped'])
    const kindOf = (...names: string[]) =>
      satisfiability(policy.ownership.get('things'), KNOWN, {
        resource: resourceOf('things'),
        relations: new Set(names),
        own: false,
      })
    expect([kindOf(), kindOf('draft'), kindOf('shipped')]).to.deep.equal(['related', 'related', 'related'])
    expect(kindOf('draft', 'shipped')).to.equal('impossible')
  })

  it('is impossible where a related object would contradict itself', () => {
    const policy = policyOf('things', ['inBox', 'led', 'editor'])
    const kindOf = (...names: string[]) =>
      satisfiability(policy.ownership.get('things'), KNOWN, {
        resource: resourceOf('things'),
        relations: new Set(names),
        own: false,
      })
    // An editor of a box is a member of it, and its lead need not be.
    expect(kindOf('editor')).to.equal('impossible')
    expect(kindOf('editor', 'led')).to.equal('impossible')
    expect([kindOf('editor', 'inBox'), kindOf('inBox'), kindOf('led')]).to.deep.equal(['related', 'related', 'related'])
  })
})
