/** A matrix knows the second edition: its cells and transitions are what the oracle grants while no condition holds. */
import { expect } from 'chai'
import fc from 'fast-check'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../../src/policy/policy-files.ts'
import type { Resources } from '../../../src/resources/resource.ts'
import { ReviewError } from '../../../src/tools/load-policy.ts'
import { planRows, type RowPlan } from '../../../src/tools/permissions/rows.ts'
import { askedAbout } from '../../policy/arbitrary-language.ts'
import { STORED, TASKS } from '../../policy/language-fixture.ts'
import { granted, grantedOnResult } from '../../policy/oracle.ts'
import { render } from '../../policy/render.ts'
import type { World } from '../../policy/world.ts'
import { runs } from '../../runs.ts'
import { matrixOf } from './fixture.ts'

const RESOURCES: Resources = {
  byName: new Map(STORED.map((one) => [one.name, one])),
  routes: STORED.flatMap(({ routes }) => routes),
}

const LAYOUT = { lineEnd: '\n', padding: ' ', comments: false } as const

describe('a matrix of members, walls and transitions', () => {
  it('grants in each cell what the oracle grants', () => {
    let transitions = 0
    fc.assert(
      fc.property(askedAbout(TASKS), ({ world }) => {
        transitions += compareRows(world)
      }),
      { numRuns: runs(60), interruptAfterTimeLimit: 10_000 },
    )
    expect(transitions).to.be.above(0)
  })
})

/** The number of transitions that were compared. */
function compareRows(world: World): number {
  const files = render(world.policy, LAYOUT)
  const only = new Set(['tasks'])
  const plans = plansOf(files, only)
  if (plans.length === 0) return 0
  const { rows } = matrixOf({ files, resources: RESOURCES, only: [...only], callers: ['everyone'] })
  const caller = { id: 'nobody-in-particular', roles: [], claims: { tenant: 'x', teams: 'red' } }
  const asked = { ...world, caller, policy: { ...world.policy, conditions: neverHolding(world.policy.conditions) } }
  for (const [i, plan] of plans.entries()) {
    if (plan.object === 'none') continue
    const fields = grantedBy(asked, plan)
    expect(rows[i]?.cells[0]?.outcome).to.equal(fields.size > 0 ? 'allowed' : 'denied')
    expect(rows[i]?.cells[0]?.fields).to.deep.equal([...fields].filter((field) => field !== '*').toSorted())
  }
  return plans.filter(({ transition }) => transition).length
}

function grantedBy(world: World, { relations, transition, action }: RowPlan): ReadonlySet<string> {
  if (!transition) return granted(world, action.name, relations)
  return grantedOnResult(world, action.name, {
    before: relations,
    between: transition.mixed,
    after: transition.proposed,
  })
}

/** None where there would be too many rows. */
function plansOf(files: PolicyFiles, only: ReadonlySet<string>): readonly RowPlan[] {
  try {
    return planRows(parsePolicy(files, RESOURCES), RESOURCES, only)
  } catch (error) {
    if (error instanceof ReviewError) return []
    throw error
  }
}

function neverHolding(conditions: ReadonlyMap<string, unknown> = new Map()) {
  return new Map([...conditions.keys()].map((name) => [name, { signedIn: { acr: ['never'] } }]))
}
