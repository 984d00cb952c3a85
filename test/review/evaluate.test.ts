/** The direct evaluation that review tools use says what the server's cells say, which Casbin made. */
import { expect } from 'chai'
import fc from 'fast-check'
import { columnOfRoles } from '../../src/decide/callers-and-routes.ts'
import { casbinPolicy } from '../../src/decide/casbin/casbin.ts'
import { directPolicy } from '../../src/decide/grants/direct.ts'
import type { Policy } from '../../src/decide/policy.ts'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import type { Snapshot } from '../../src/decide/snapshot.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { ROLES } from '../policy/arbitrary.ts'
import { randomPolicy } from '../policy/arbitrary-policy.ts'
import { RESOURCES } from '../policy/fixture.ts'
import { relationSetsOf } from '../policy/relation-sets.ts'
import { evaluate } from './plain-evaluation.ts'

const randomRoles = fc.subarray([...ROLES], { minLength: 0 })

describe('the direct evaluation of a policy', () => {
  it("equals the server's cells for every resource, action and set of relations", async () => {
    await fc.assert(
      fc.asyncProperty(randomPolicy, randomRoles, async ({ files }, roles) => {
        const policy = parsePolicy(files, RESOURCES)
        expect(await differences(policy, casbinPolicy(packPolicy(policy), RESOURCES), roles)).to.deep.equal([])
      }),
      { numRuns: 60 },
    )
  })

  it('a rule that only one of them knows would be found', async () => {
    const found = await fc.check(
      fc.asyncProperty(randomPolicy, randomRoles, async ({ files }, roles) => {
        const policy = parsePolicy(files, RESOURCES)
        const another = { ...policy, rules: policy.rules.slice(1) }
        expect(await differences(another, casbinPolicy(packPolicy(policy), RESOURCES), roles)).to.deep.equal([])
      }),
      { seed: 1, numRuns: 200, endOnFailure: true },
    )
    expect(found.failed).to.equal(true)
  })
})

async function differences(policy: Policy, snapshot: Snapshot, roles: readonly string[]): Promise<readonly string[]> {
  const { subjects } = columnOfRoles(policy, roles)
  const caller = { id: 'nobody-in-particular', roles, claims: {} }
  const subject = snapshot.subjectOf(caller)
  const direct = directPolicy(policy, RESOURCES)
  const different: string[] = []
  for (const resource of RESOURCES.byName.values()) {
    for (const action of resource.actions.values()) {
      const table = await snapshot.table(subject, resource.name, action.name)
      const directTable = direct.table(direct.subjectOf(caller), resource.name, action.name)
      for (const relations of relationSetsOf(policy, resource, action)) {
        const mine = evaluate(policy, { subjects, resource, action, relations })
        const theirs = table.grant([...relations])
        const direct = directTable.grant([...relations])
        const same = sorted(mine.fields) === sorted(theirs.fields) && sorted(direct.fields) === sorted(theirs.fields)
        if (!same || direct.lines.join() !== theirs.lines.join()) different.push(`${resource.name} ${action.name}`)
      }
    }
  }
  return different
}

function sorted(fields: ReadonlySet<string>): string {
  return [...fields].sort().join()
}
