/** By which fields a caller may filter and sort a list: those that every row shows, so that no query tells what a view hides. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { decideList, type ListDecision } from '../../src/policy/decision.ts'
import { runs } from '../runs.ts'
import { randomCaller, randomObject } from './arbitrary.ts'
import { generousPolicy } from './arbitrary-policy.ts'
import { DOCS } from './fixture.ts'
import { onObject } from './oracle.ts'
import { groundOf, snapshotOf, worldOf } from './product.ts'

type Queryable = (decision: ListDecision) => Iterable<string>

describe('the fields that a list may be queried by', () => {
  /** Whatever object the oracle lets the caller list, it shows each of them. */
  function areInEveryRow(queryable: Queryable) {
    return fc.asyncProperty(generousPolicy, randomCaller, randomObject, async (policy, caller, object) => {
      const decision = decideList(await groundOf(snapshotOf(policy.files), caller, DOCS, 'list'))
      const world = worldOf(policy.data, DOCS, caller)
      const shown = onObject(world, 'list', object)
      if (shown.size === 0) return
      for (const field of queryable(decision)) expect([...shown]).to.include(field)
    })
  }

  it('are shown in every row that the caller lists, for random policies, callers and objects', () =>
    fc.assert(
      areInEveryRow(({ queryable }) => queryable.keys()),
      { numRuns: runs(1500) },
    ))

  it('would be found out if they were those that some row shows', async () => {
    const outcome = await fc.check(
      areInEveryRow(({ shown }) => shown),
      { numRuns: 1500, endOnFailure: true },
    )
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })
})
