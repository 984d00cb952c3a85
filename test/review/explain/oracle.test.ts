/** What explain says is what the oracle says, for any policy, caller, object and set of relations. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { ExplainedCase, Explanation } from '../../../src/tools/explain/explanation.ts'
import type { KnownObject } from '../../../src/tools/explain/request.ts'
import { randomCaller, randomObject } from '../../policy/arbitrary.ts'
import { endingPolicy, randomPolicy, randomTime, type WrittenPolicy } from '../../policy/arbitrary-policy.ts'
import { DOCS } from '../../policy/fixture.ts'
import { granted, grantedWithoutObject, relationsOf, roleLevel, subsets } from '../../policy/oracle.ts'
import { askingOf, worldOf } from '../../policy/product.ts'
import type { OracleCaller, Plain, World } from '../../policy/world.ts'
import { runs } from '../../runs.ts'
import { ask, type RouteMethod, spotsOfDocs } from './asking.ts'

const question = fc
  .record({ policy: randomPolicy, caller: randomCaller, object: randomObject, pick: fc.nat(), pickSet: fc.nat() })
  .map((random) => ({ ...random, routeMethod: spotOf(random.policy, random.pick) }))

describe('explain', () => {
  it('says of a stored object what the oracle says: allowed or not, the relations and the fields', () => {
    fc.assert(
      fc.property(question, ({ policy, caller, object, routeMethod }) => {
        if (!isAboutOne(routeMethod)) return
        const world = worldOf(policy.data, DOCS, caller)
        const found = ask(policy.files, routeMethod, caller, aboutObject(caller, object))
        const relations = relationsOf(world, object)
        expect(said(found)).to.deep.equal(expected(world, routeMethod, relations))
        if (found.cases.length > 0) expect(holding(found)).to.deep.equal([...relations])
      }),
      { numRuns: runs(300) },
    )
  })

  it('says of relations that are taken to hold what the oracle says', () => {
    fc.assert(
      fc.property(question, ({ policy, caller, routeMethod, pickSet }) => {
        const world = worldOf(policy.data, DOCS, caller)
        const relations = pickFrom(subsets(possibleNames(policy, caller)), pickSet)
        const found = ask(policy.files, routeMethod, caller, {
          kind: 'relations',
          from: '--relation',
          id: undefined,
          holding: relations,
        })
        expect(said(found)).to.deep.equal(expected(world, routeMethod, relations))
      }),
      { numRuns: runs(300) },
    )
  })

  it('says of every time what the oracle says, where rules end', () => {
    fc.assert(
      fc.property(question, endingPolicy, randomTime, ({ caller, pick, pickSet }, policy, now) => {
        const routeMethod = spotOf(policy, pick)
        const holding = pickFrom(subsets(possibleNames(policy, caller)), pickSet)
        const about = { kind: 'relations', from: '--relation', id: undefined, holding } as const
        const world = { ...worldOf(policy.data, DOCS, caller), now }
        expect(said(ask(policy.files, routeMethod, caller, about, now))).to.deep.equal(
          expected(world, routeMethod, holding),
        )
      }),
      { numRuns: runs(300) },
    )
  })

  it('has a case for every set of relations: the largest within it decides as the set itself', () => {
    fc.assert(
      fc.property(question, ({ policy, caller, routeMethod }) => {
        const world = worldOf(policy.data, DOCS, caller)
        const found = ask(policy.files, routeMethod, caller, { kind: 'any', id: undefined })
        if (found.cases.length === 0) return
        for (const set of subsets(possibleNames(policy, caller))) {
          for (const one of largestWithin(found.cases, set)) {
            expect(saidOf(one)).to.deep.equal(expected(world, routeMethod, set))
          }
        }
      }),
      { numRuns: runs(200) },
    )
  })

  it('another policy would be explained otherwise', () => {
    const found = fc.check(
      fc.property(question, ({ policy, caller, routeMethod, pickSet }) => {
        const data = { ...policy.data, rules: policy.data.rules.slice(1) }
        const relations = pickFrom(subsets(possibleNames(policy, caller)), pickSet)
        const explained = ask(policy.files, routeMethod, caller, {
          kind: 'relations',
          from: '--relation',
          id: undefined,
          holding: relations,
        })
        expect(said(explained)).to.deep.equal(expected(worldOf(data, DOCS, caller), routeMethod, relations))
      }),
      { seed: 1, numRuns: 3000, endOnFailure: true },
    )
    expect(found.failed).to.equal(true)
  })
})

/** `fields`: what is shown; of a write, what may be written and what the answer shows. */
interface Said {
  readonly allowed: boolean
  readonly fields: readonly string[]
}

const REFUSED: Said = { allowed: false, fields: [] }

function expected(world: World, { method, route }: RouteMethod, relations: ReadonlySet<string>): Said {
  const { operation = 'read', action = '' } = route.endpoints.get(method) ?? {}
  if (operation === 'options') return { allowed: grantedWithoutObject(world, action).size > 0, fields: [] }
  if (!roleLevel(world, action)) return REFUSED
  const all = granted(world, action, relations)
  const view = world.policy.views.get('docs')?.get(route.view ?? '')
  const viewed = [...all].filter((field) => view === undefined || view.includes(field))
  if ((operation === 'read' ? viewed.length : all.size) === 0) return REFUSED
  if (operation === 'delete') return { allowed: true, fields: [] }
  if (operation === 'list' || operation === 'read') return { allowed: true, fields: viewed.toSorted() }
  const writable = [...all].filter((field) => !world.resource.readOnly.includes(field))
  const shown = [...granted(world, 'read', relations)].map((field) => `shown ${field}`)
  return { allowed: true, fields: [...writable, ...shown].toSorted() }
}

function said({ outcome, cases }: Explanation): Said {
  expect(cases.length).to.be.lessThan(2)
  return cases[0] ? saidOf(cases[0]) : { allowed: outcome === 'allow', fields: [] }
}

function saidOf({ outcome, fields }: ExplainedCase): Said {
  if (outcome === 'deny') return REFUSED
  const { shown = [], writable = null } = fields ?? {}
  const named = writable ? [...writable, ...shown.map((field) => `shown ${field}`)] : shown
  return { allowed: true, fields: named.toSorted() }
}

function holding({ relations }: Explanation): readonly string[] {
  return relations.filter(({ holds }) => holds).map(({ name }) => name)
}

/** Where relations can differ from object to object, and an object is there to look at. */
function isAboutOne({ method, route }: RouteMethod): boolean {
  const operation = route.endpoints.get(method)?.operation
  return operation !== 'options' && operation !== 'create'
}

/** What a claim says counts where there is no record; explain is given either as the record. */
function aboutObject({ record, claims }: OracleCaller, object: Plain): KnownObject {
  return { kind: 'object', id: String(object.id), object, record: record ?? claims, related: () => undefined }
}

function largestWithin(cases: readonly ExplainedCase[], set: ReadonlySet<string>): readonly ExplainedCase[] {
  const within = cases.filter(({ relations }) => relations.every((name) => set.has(name)))
  const isLess = (one: ExplainedCase, other: ExplainedCase) =>
    one !== other && one.relations.every((name) => other.relations.includes(name))
  return within.filter((one) => !within.some((other) => isLess(one, other)))
}

/** Without credentials nobody is anybody's owner, and nobody has what they lack in common with an object. */
function possibleNames({ data }: WrittenPolicy, caller: OracleCaller): readonly string[] {
  const { valuesOf } = askingOf(caller)
  const relations = [...(data.relations.get('docs') ?? [])]
  return relations
    .filter(([, relation]) => !('equals' in relation) || valuesOf(relation.equals).length > 0)
    .map(([name]) => name)
}

function spotOf({ data }: WrittenPolicy, pick: number): RouteMethod {
  const [view] = data.views.get('docs')?.keys() ?? []
  return pickFrom(spotsOfDocs(view), pick)
}

function pickFrom<T>(all: readonly T[], pick: number): T {
  const picked = all[pick % all.length]
  if (picked === undefined) throw new Error('there is nothing to pick from')
  return picked
}
