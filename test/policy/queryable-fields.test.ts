/** By which fields a caller may filter and sort a list: those that every row shows, so that no query tells what a view hides. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { ListDecision } from '../../src/decide/grants/list-decision.ts'
import { runs } from '../runs.ts'
import { randomCaller, randomObject } from './arbitrary.ts'
import { generousPolicy } from './arbitrary-policy.ts'
import { DOCS } from './fixture.ts'
import { onObject, queryable, roleLevel } from './oracle.ts'
import { grantsOf, snapshotOf, worldOf } from './product.ts'
import { filesOf } from './render.ts'

type Queryable = (decision: ListDecision) => Iterable<string>

describe('the fields that a list may be queried by', () => {
  /** Whatever object the oracle lets the caller list, it shows each of them. */
  function areInEveryRow(queryable: Queryable) {
    return fc.asyncProperty(generousPolicy, randomCaller, randomObject, async (policy, caller, object) => {
      const decision = new ListDecision(await grantsOf(snapshotOf(policy.files), caller, DOCS, 'list'))
      const world = worldOf(policy.data, DOCS, caller)
      const shown = onObject(world, 'list', object)
      if (shown.size === 0) return
      for (const field of queryable(decision)) expect([...shown]).to.include(field)
    })
  }

  it('are shown in every row that the caller lists, for random policies, callers and objects', () =>
    fc.assert(
      areInEveryRow((decision) => decision.queryable.keys()),
      { numRuns: runs(1500) },
    ))

  function areWhatTheOracleSays(grantsFor: typeof grantsOf) {
    return fc.asyncProperty(generousPolicy, randomCaller, async (policy, caller) => {
      const found = new ListDecision(await grantsFor(snapshotOf(policy.files), caller, DOCS, 'list')).queryable
      const world = worldOf(policy.data, DOCS, caller)
      if (roleLevel(world, 'list')) expect(new Set(found.keys())).to.deep.equal(queryable(world))
    })
  }

  it('are all that the rules by which the caller lists have in common', () =>
    fc.assert(areWhatTheOracleSays(grantsOf), { numRuns: runs(1500) }))

  it('would be found out if rules counted that can never match for the caller', async () => {
    const forAnybody: typeof grantsOf = async (...asked) => {
      const grants = await grantsOf(...asked)
      return { ...grants, roleLevel: grants.table.roleLevel(() => true) }
    }
    const outcome = await fc.check(areWhatTheOracleSays(forAnybody), { numRuns: 20_000, seed: 42, endOnFailure: true })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })

  it('are not fewer for a rule about every resource whose view or relation this one lacks', async () => {
    const named = async (...lines: readonly string[]) => {
      const files = filesOf({
        'policy.csv': ['p, everyone, docs, list, any, *, allow', ...lines].join('\n'),
        'views.yaml': 'docs: { one: [id, status] }\njobs: { four: [id] }\n',
        'ownership.yaml': 'docs: { relations: { owner: ownerId } }\njobs: { relations: { mine: by } }\n',
      })
      const grants = await grantsOf(snapshotOf(files), { id: 'u1', roles: [], claims: {} }, DOCS, 'list')
      return [...new ListDecision(grants).queryable.keys()]
    }
    const all = await named()
    expect(all).to.include.members(['id', 'ownerId', 'status'])
    expect(await named('p, everyone, *, list, any, four, allow')).to.deep.equal(all)
    expect(await named('p, everyone, *, list, mine, four, allow')).to.deep.equal(all)
    expect(await named('p, everyone, *, list, any, one|four, allow')).to.deep.equal(['id', 'status'])
  })

  it('would be found out if they were those that some row shows', async () => {
    const outcome = await fc.check(
      areInEveryRow(({ shown }) => shown),
      { numRuns: 1500, seed: 27, endOnFailure: true },
    )
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })
})
