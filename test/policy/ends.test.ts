/** Rules that end: at every moment cells, role level and list filters are those of the rules that live, with no reload. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { parseTime, timeText } from '../../src/base/time.ts'
import { meets } from '../../src/decide/conditions/condition.ts'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import { Snapshots } from '../../src/decide/rules/snapshots.ts'
import type { Snapshot } from '../../src/decide/snapshot.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { runs } from '../runs.ts'
import { randomCaller, randomDocument } from './arbitrary.ts'
import { ENDS, endingPolicy, randomTime, type WrittenPolicy } from './arbitrary-policy.ts'
import { grantedIn, isReachable } from './expected-cells.ts'
import { DOCS, JOBS, RESOURCES } from './fixture.ts'
import { fullCasbin } from './full-casbin.ts'
import { list, subsets } from './oracle.ts'
import { askingOf, roleLevelOf, tableOf, worldOf } from './product.ts'
import { filesOf } from './render.ts'
import type { OracleCaller, World } from './world.ts'

/** What rules at a time; the same object is asked about several times, in any order, as a server is. */
type Timed = (policy: WrittenPolicy) => (now: number) => Snapshot

const product: Timed = ({ files }) => {
  const snapshots = new Snapshots(packPolicy(parsePolicy(files, RESOURCES)), RESOURCES)
  return (now) => snapshots.at(now)
}

const randomQuestion = fc.constantFrom(DOCS, DOCS, JOBS).chain((resource) =>
  fc.record({
    policy: endingPolicy,
    caller: randomCaller,
    resource: fc.constant(resource),
    action: fc.constantFrom(...resource.actions.keys()),
    times: fc.array(randomTime, { minLength: 1, maxLength: 4 }),
  }),
)

function livesLikeTheOracle(
  timed: Timed,
  checkWorld: (world: World, action: string) => Promise<void> = async () => {},
) {
  return fc.asyncProperty(randomQuestion, async ({ policy, caller, resource, action, times }) => {
    const at = timed(policy)
    for (const now of times) {
      const world = { ...worldOf(policy.data, resource, caller), now }
      const table = await tableOf(at(now), caller, resource, action)
      for (const relations of subsets([...(policy.data.relations.get(resource.name)?.keys() ?? [])])) {
        expect(table.grant([...relations]).fields).to.deep.equal(grantedIn(world, action, relations))
      }
      expect(roleLevelOf(table, caller).allowed, 'role level').to.equal(isReachable(world, action))
      await checkWorld(world, action)
    }
  })
}

describe('rules that end', () => {
  it('make cells and the role level what the oracle says at every time', async () => {
    await fc.assert(livesLikeTheOracle(product), { numRuns: runs(500) })
  })

  it('are for the oracle what they are for a Casbin that holds all rules that live', async () => {
    const likeCasbin = async (world: World, action: string) => {
      const casbin = await fullCasbin(world, action)
      for (const relations of subsets([...(world.policy.relations.get(world.resource.name)?.keys() ?? [])])) {
        expect(casbin(relations)).to.deep.equal(grantedIn(world, action, relations))
      }
    }
    await fc.assert(livesLikeTheOracle(product, likeCasbin), { numRuns: runs(150) })
  })

  it('make lists what the oracle lists at every time', async () => {
    const documents = fc.array(randomDocument, { minLength: 1, maxLength: 20 })
    const property = fc.asyncProperty(randomQuestion, documents, async ({ policy, caller, times }, objects) => {
      const at = product(policy)
      for (const now of times) {
        const world = { ...worldOf(policy.data, DOCS, caller), now }
        const where = (await tableOf(at(now), caller, DOCS, 'list')).where(askingOf(caller), [], undefined)
        expect(objects.filter((object) => meets(where, object))).to.deep.equal(list(world, objects))
      }
    })
    await fc.assert(property, { numRuns: runs(300) })
  })

  /** Each is wrong in one way; the first property must see it. */
  const wrong: Readonly<Record<string, Timed>> = {
    'never end': (policy) => () => product(policy)(0),
    'end when the snapshot is made, and not while it is in use': (policy) => {
      const at = product(policy)
      let first: Snapshot | undefined
      return (now) => {
        first ??= at(now)
        return first
      }
    },
    'end a millisecond late': (policy) => {
      const at = product(policy)
      return (now) => at(now - 1)
    },
    'end a millisecond early': (policy) => {
      const at = product(policy)
      return (now) => at(now + 1)
    },
  }

  for (const [fault, timed] of Object.entries(wrong)) {
    it(`are compared so that rules are found out that ${fault}`, async () => {
      const outcome = await fc.check(livesLikeTheOracle(timed), { numRuns: 2000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

describe('the snapshots of a policy', () => {
  const [end = 0] = ENDS
  const caller: OracleCaller = { id: 'u1', roles: ['a'], claims: {} }

  function snapshots(...rules: readonly string[]): Snapshots {
    const files = filesOf({ 'policy.csv': rules.join('\n'), 'roles.yaml': 'a: { description: A. }\n' })
    return new Snapshots(packPolicy(parsePolicy(files, RESOURCES)), RESOURCES)
  }

  it('are one until a rule ends, and then another that has made the cells in use', async () => {
    const timed = snapshots('p, a, docs, read, any, *, allow', `p, a, docs, read, any, *, deny, until=${timeText(end)}`)
    const before = timed.at(end - 1)
    expect(timed.at(0)).to.equal(before)
    expect((await tableOf(before, caller, DOCS, 'read')).grant([]).fields.size).to.equal(0)
    const after = timed.at(end)
    expect(after).not.to.equal(before)
    expect(timed.at(end + 1e12)).to.equal(after)
    const table = await tableOf(after, caller, DOCS, 'read')
    for (let i = 0; i < 100 && table.cellsInUse.length === 0; i++) await new Promise(setImmediate)
    expect(table.cellsInUse).to.deep.equal([{ stored: [] }])
    expect(table.grant([]).fields.size).to.equal(DOCS.fields.size)
  })

  it('follow a clock that is set back', async () => {
    const timed = snapshots(`p, a, docs, read, any, *, allow, until=${timeText(end)}`)
    const sizes = [end, end - 1, end].map(async (now) => {
      return (await tableOf(timed.at(now), caller, DOCS, 'read')).grant([]).fields.size > 0
    })
    expect(await Promise.all(sizes)).to.deep.equal([false, true, false])
  })

  it('tell which lines have ended', () => {
    const timed = snapshots(
      '# a comment',
      `p, a, docs, read, any, *, allow, until=${timeText(end)}`,
      'p, a, docs, read, any, *, deny',
      `p, a, docs, list, any, *, allow, until=${timeText(end + 5000)}`,
    )
    expect(timed.endedBetween(end - 1, end)).to.deep.equal([2])
    expect(timed.endedBetween(end, end + 4999)).to.deep.equal([])
    expect(timed.endedBetween(0, end + 5000)).to.deep.equal([2, 4])
    expect(timed.endedBetween(end + 5000, 0)).to.deep.equal([])
  })
})

describe('a moment', () => {
  it('is read to the millisecond, whatever the offset, and written so that it is read the same', () => {
    expect(parseTime('2028-02-29T23:59:59.999-00:30')).to.equal(Date.UTC(2028, 2, 1, 0, 29, 59, 999))
    const inRange = fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
    const reads = fc.property(inRange, (date) => {
      expect(parseTime(timeText(date.getTime()))).to.equal(date.getTime())
    })
    fc.assert(reads)
  })

  it('exists: no other day than the calendar has', () => {
    for (const month of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0]) {
      for (const day of [0, 1, 28, 29, 30, 31, 32]) {
        const text = `2027-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}T00:00:00Z`
        const date = new Date(Date.UTC(2027, month - 1, day))
        const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
        expect(parseTime(text), text).to.equal(exists ? date.getTime() : undefined)
      }
    }
  })
})
