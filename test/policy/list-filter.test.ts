/** List filters: what a table's filter finds in a real database is what the oracle lists one by one. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { Condition } from '../../src/decide/conditions/condition.ts'
import type { GrantTable } from '../../src/decide/grants/grant-table.ts'
import type { ListedObject, Store } from '../../src/store/contract.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { representListed } from '../listed.ts'
import { runs } from '../runs.ts'
import { randomCaller, randomDocument } from './arbitrary.ts'
import { randomPolicy } from './arbitrary-policy.ts'
import { DOCS, RESOURCES } from './fixture.ts'
import { list } from './oracle.ts'
import { askingOf, snapshotOf, tableOf, worldOf } from './product.ts'
import type { OracleCaller, Plain } from './world.ts'

const OBJECTS = 150
const TIME = new Date('2026-01-01T00:00:00.000Z')

/** Finds the objects that a caller may list. */
type Lister = (table: GrantTable, caller: OracleCaller) => Promise<readonly ListedObject[]>

describe('a list', () => {
  let store: Store
  let objects: readonly ListedObject[]

  const whereOf = (table: GrantTable, caller: OracleCaller) => table.where(askingOf(caller), [], undefined)
  const find = (where: Condition) => store.list('docs', { where, limit: OBJECTS })
  const product: Lister = (table, caller) => find(whereOf(table, caller))

  before(async () => {
    const opened = await openSqlite({
      file: ':memory:',
      resources: RESOURCES,
      now: () => TIME,
      indexFields: new Map([['docs', ['ownerId', 'status', 'count']]]),
    })
    store = opened.store
    const documents = fc.sample(randomDocument, { numRuns: OBJECTS, seed: 7 })
    await opened.seeding.insert(
      'docs',
      documents.map((document, i) => ({ id: ['u1', 'u2', 'a,b'][i] ?? `o${i}`, document })),
    )
    objects = await find({ kind: 'always' })
  })

  after(() => store.close())

  function listsLikeTheOracle(lister: Lister) {
    return fc.asyncProperty(randomPolicy, randomCaller, async (policy, caller) => {
      const table = await tableOf(snapshotOf(policy.files), caller, DOCS, 'list')
      const listed = await lister(table, caller)
      const expected = list(worldOf(policy.data, DOCS, caller), objects.map(representListed) as readonly Plain[])
      expect(listed.map((object) => object.id)).to.deep.equal(expected.map((object) => object.id))
    })
  }

  it('holds exactly the objects for which `list` is allowed one by one', async () => {
    expect(objects).to.have.length(OBJECTS)
    await fc.assert(listsLikeTheOracle(product), { numRuns: runs(700) })
  })

  it("is each caller's own where callers share what the policy says of their roles", () =>
    fc.assert(
      fc.asyncProperty(
        randomPolicy,
        fc.array(randomCaller, { minLength: 2, maxLength: 6 }),
        async (policy, callers) => {
          const first = callers[0] as OracleCaller
          const shared = await tableOf(snapshotOf(policy.files), first, DOCS, 'list')
          for (const caller of [...callers, ...callers]) {
            const alone = await tableOf(snapshotOf(policy.files), first, DOCS, 'list')
            expect(whereOf(shared, caller)).to.deep.equal(whereOf(alone, caller))
          }
        },
      ),
      { numRuns: 50 },
    ))

  /** Each finds something else in one case; the property above must see it. */
  const wrong: Readonly<Record<string, Lister>> = {
    'whose negation is unknown where a field is missing or null': async (table, caller) => {
      const where = whereOf(table, caller)
      return objects.filter((object) => naive(where, representListed(object)) === true)
    },
    'that shows what a deny takes away': (table, caller) => find(withoutNegations(whereOf(table, caller))),
    'that takes an absent attribute for an empty one': (table, caller) => {
      const { valuesOf, now } = askingOf(caller)
      const orEmpty = (name: string) => (valuesOf(name).length > 0 ? valuesOf(name) : [''])
      return find(table.where({ valuesOf: orEmpty, now }, [], undefined))
    },
    'of another caller': (table) => find(whereOf(table, { id: 'u2', roles: [], claims: {} })),
  }

  for (const [fault, lister] of Object.entries(wrong)) {
    it(`is compared so that a filter is found out ${fault}`, async () => {
      const outcome = await fc.check(listsLikeTheOracle(lister), { numRuns: 2000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

/** SQL's three-valued logic without care: NULL compared is unknown, and so is its negation. */
function naive(condition: Condition, object: Plain): boolean | undefined {
  switch (condition.kind) {
    case 'always':
      return true
    case 'never':
      return false
    case 'holds': {
      const value = object[condition.field] ?? undefined
      if (value === undefined) return undefined
      const held: readonly unknown[] = Array.isArray(value) ? value : [value]
      return condition.values.some((wanted) => held.includes(wanted))
    }
    case 'all':
      return condition.of.reduce<boolean | undefined>((all, part) => and(all, naive(part, object)), true)
    case 'some':
      return not(condition.of.reduce<boolean | undefined>((all, part) => and(all, not(naive(part, object))), true))
    case 'not':
      return not(naive(condition.of, object))
    default:
      throw new Error(`no policy here has \`${condition.kind}\``)
  }
}

function and(a: boolean | undefined, b: boolean | undefined): boolean | undefined {
  if (a === false || b === false) return false
  return a === undefined || b === undefined ? undefined : true
}

function not(a: boolean | undefined): boolean | undefined {
  return a === undefined ? undefined : !a
}

function withoutNegations(condition: Condition): Condition {
  if (condition.kind === 'not') return { kind: 'always' }
  if (condition.kind !== 'all' && condition.kind !== 'some') return condition
  return { kind: condition.kind, of: condition.of.map(withoutNegations) }
}
