/** By which fields a list may be filtered and sorted: review tools say what the server's tables, which Casbin made, say. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { PolicyDifference } from '../../../src/analysis/diff/change.ts'
import { casbinPolicy } from '../../../src/decide/casbin/casbin.ts'
import { directPolicy } from '../../../src/decide/grants/direct.ts'
import type { Policy } from '../../../src/decide/policy.ts'
import { packPolicy } from '../../../src/decide/rules/rule-table.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { ROLES } from '../../policy/arbitrary.ts'
import { DOCS, RESOURCES } from '../../policy/fixture.ts'
import { render } from '../../policy/render.ts'
import type { OraclePolicy } from '../../policy/world.ts'
import { runs } from '../../runs.ts'
import { diffOf, type PolicyPair, randomPair } from './policy-pairs.ts'

type Roles = readonly string[]

/** `shown` in some row. */
interface Queries {
  readonly by: ReadonlySet<string>
  readonly shown: ReadonlySet<string>
}

const DECLARED = new Set<string>(ROLES)

describe('the fields that lists may be queried by', () => {
  it('are to review tools what they are to the server, for callers of any roles', () =>
    fc.assert(
      fc.asyncProperty(randomPair, fc.subarray([...ROLES]), async ({ before }, roles) => {
        const policy = parsed(before)
        const { by, shown } = await onServer(before, roles)
        if (shown.size > 0) expect(new Set(inReview(policy, roles))).to.deep.equal(by)
      }),
      { numRuns: runs(200) },
    ))

  /** Of the fields that a role's list shows on both sides, by which it may be queried on one alone. */
  const areTold = (diff: (pair: PolicyPair) => readonly PolicyDifference[]) =>
    fc.asyncProperty(randomPair, async (pair) => {
      const told = diff(pair)
      for (const role of pair.after.roles.filter((name) => DECLARED.has(name) && pair.before.roles.includes(name))) {
        const [before, after] = [await onServer(pair.before, [role]), await onServer(pair.after, [role])]
        const shown = before.shown.intersection(after.shown)
        expect(fieldsIn(told, role, 'gains')).to.deep.equal(after.by.difference(before.by).intersection(shown))
        expect(fieldsIn(told, role, 'loses')).to.deep.equal(before.by.difference(after.by).intersection(shown))
      }
    })

  it('are in a diff where nothing else tells that they are others', () =>
    fc.assert(areTold(diffOf), { numRuns: runs(200) }))

  it('would be missed by a diff that looks at grants alone', async () => {
    const onGrants = (pair: PolicyPair) =>
      diffOf(pair).filter((change) => change.kind !== 'decision' || change.part !== 'query')
    // With this seed it is missed soon.
    const outcome = await fc.check(areTold(onGrants), { numRuns: 2000, seed: 1, endOnFailure: true })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })
})

function parsed(data: OraclePolicy): Policy {
  return parsePolicy(render(data, { lineEnd: '\n', padding: ' ', comments: false }), RESOURCES)
}

async function onServer(data: OraclePolicy, roles: Roles): Promise<Queries> {
  const snapshot = casbinPolicy(packPolicy(parsed(data)), RESOURCES)
  const table = await snapshot.table(snapshot.subjectOf({ id: 'nobody', roles, claims: {} }), DOCS.name, 'list')
  const { queryable, grantable } = table.roleLevel(() => true)
  return { by: new Set(queryable.keys()), shown: grantable }
}

function inReview(policy: Policy, roles: Roles): Iterable<string> {
  const direct = directPolicy(policy, RESOURCES)
  const table = direct.table(direct.subjectOf({ id: 'nobody', roles, claims: {} }), DOCS.name, 'list')
  return table.roleLevel(() => true).queryable.keys()
}

function fieldsIn(changes: readonly PolicyDifference[], role: string, effect: 'gains' | 'loses'): ReadonlySet<string> {
  const told = changes.filter((change) => change.kind === 'decision')
  const own = told.filter(({ part, callers, resources }) => {
    return part === 'query' && resources.includes(DOCS.name) && callers.some(([name]) => name === role)
  })
  return new Set(own.filter((one) => one.effect === effect).flatMap(({ fields }) => fields ?? []))
}
