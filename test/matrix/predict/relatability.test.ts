/** Ways to relate are solved together: what some object can be is arranged or said to be open, and is never impossible. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Policy } from '../../../src/decide/policy.ts'
import { comparedAttributes, comparedFields } from '../../../src/decide/relations/all-kinds.ts'
import { relationsOf } from '../../../src/decide/relations/ownership.ts'
import { namedRelations, possibleSets } from '../../../src/decide/relations/possible-sets.ts'
import { askingAs } from '../../../src/decide/relations/relation-kind.ts'
import type { Json, Representation, Resource } from '../../../src/resources/resource.ts'
import { arrangeRelated } from '../../../src/tools/matrix/arrange/arrange-related.ts'
import { relatability } from '../../../src/tools/matrix/arrange/relatability.ts'
import { CALLER } from '../../../src/tools/matrix/arrange/samples.ts'
import { rowsOf } from '../../../src/tools/matrix/cells/rows.ts'
import { runs } from '../../runs.ts'
import { KINDS, KNOWN, policyWith, RELATIONS } from './kinds.ts'

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
  grade: [0, 1, 2, 3],
  open: [true, false],
  flags: [undefined, [], ['new'], ['old'], ['new', 'hot']],
  title: [undefined, null, 'it', 'other'],
  level: [0, 1, 2, 3],
  lit: [true, false],
  boss: [undefined, CALLER, 'zoe'],
}
const OPTIONAL: Readonly<Record<string, readonly (Json | undefined)[]>> = { team: [undefined, 'red', 'green', 'blue'] }
const ATTRIBUTES = {
  team: [undefined, 'red', 'green', 'blue'],
  level: [undefined, 0, 2, 3],
  lit: [undefined, true, false],
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
  const fields = Object.fromEntries([...compared].map((name) => [name, domainOf(resource, name)]))
  const callers = products(Object.fromEntries(Object.entries(ATTRIBUTES).filter(([name]) => attributes.has(name))))
  const sets = new Set<string>()
  for (const object of products(fields)) {
    const faults = resource.validate(object)
    const wrong = faults.some(({ pointer }) => compared.has(pointer.slice(1).split('/')[0] ?? ''))
    if (wrong) continue
    for (const claims of callers) {
      // The caller's own record alone gives the attributes.
      const has: Representation = resource.name === 'users' && object.id === CALLER ? object : claims
      const holding = relationsOf(owned, askingAs({ ...has, id: CALLER }, 0), object)
      sets.add(holding.toSorted().join('+'))
    }
  }
  return sets
}

const randomRelations = fc.constantFrom<'things' | 'users'>('things', 'things', 'things', 'users').chain((name) =>
  fc.record({
    name: fc.constant(name),
    names: fc.subarray(Object.keys(RELATIONS[name]), { minLength: 1, maxLength: 5 }),
    asked: fc.nat(31),
  }),
)

function policyOf(name: 'things' | 'users', names: readonly string[], rules = ''): Policy {
  const chosen = names.map((one) => [one, RELATIONS[name][one] ?? ''] as const)
  return policyWith({ [name]: Object.fromEntries(chosen) }, rules)
}

function resourceOf(name: string): Resource {
  const resource = KINDS.byName.get(name)
  if (!resource) throw new Error('there is one')
  return resource
}

describe('how callers can relate to objects', () => {
  it('is never called impossible where some object is so, and never called possible where none is', () => {
    const seen = { related: 0, impossible: 0, unarranged: 0 }
    fc.assert(
      fc.property(randomRelations, ({ name, names }) => {
        const policy = policyOf(name, names)
        const resource = resourceOf(name)
        const possible = achieved(policy, resource)
        const all = names.reduce<readonly string[][]>(
          (sets, one) => sets.concat(sets.map((set) => [...set, one])),
          [[]],
        )
        for (const set of all) {
          const kind = relatability(policy, KNOWN, { resource, relations: new Set(set), own: false })
          seen[kind]++
          const text = set.toSorted().join('+')
          expect(kind, `${name} ${names}: ${text}`).to.not.equal(possible.has(text) ? 'impossible' : 'related')
        }
      }),
      { numRuns: runs(300) },
    )
    expect(seen.related).to.be.greaterThan(100)
    expect(seen.impossible).to.be.greaterThan(20)
    // Only what needs an attribute that nobody can be given stays open.
    expect(seen.unarranged).to.be.lessThan((seen.related + seen.impossible) / 4)
  }).timeout(60_000)

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
        const states = rowsOf([policy], KNOWN)
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
  }).timeout(60_000)

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
      }
      const found = arrangeRelated({ ...common, callerId: CALLER })
      if (found.kind !== 'related') throw new Error(`${[...relations]}: ${found.why}`)
      const { object, attributes } = found
      const holding = relationsOf(ownership, askingAs({ ...attributes, id: CALLER }, 0), object)
      expect(new Set(holding)).to.deep.equal(relations)
      expect(resource.validate(object).filter(({ pointer }) => pointer !== '/id')).to.deep.equal([])
    }
  })

  it('knows two states of one field, a third that is neither, and that nothing is both', () => {
    const policy = policyOf('things', ['draft', 'shipped'])
    const kindOf = (...names: string[]) =>
      relatability(policy, KNOWN, { resource: resourceOf('things'), relations: new Set(names), own: false })
    expect([kindOf(), kindOf('draft'), kindOf('shipped')]).to.deep.equal(['related', 'related', 'related'])
    expect(kindOf('draft', 'shipped')).to.equal('impossible')
  })
})
