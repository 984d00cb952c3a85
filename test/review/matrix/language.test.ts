/** A matrix knows the second edition: its cells and transitions are what the oracle grants while no condition holds. */

import { expect } from 'chai'
import fc from 'fast-check'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../../src/policy/policy-files.ts'
import type { Resources } from '../../../src/resources/resource.ts'
import { ToolError } from '../../../src/tools/load-policy.ts'
import type { MatrixRow } from '../../../src/tools/permissions/merge-rows.ts'
import { planRows, type RowPlan } from '../../../src/tools/permissions/rows.ts'
import { relationLabel } from '../../../src/tools/permissions/words.ts'
import { askedAbout } from '../../policy/arbitrary-language.ts'
import { STORED, TASKS } from '../../policy/language-fixture.ts'
import { granted, grantedOnResult } from '../../policy/oracle.ts'
import { filesOf, render } from '../../policy/render.ts'
import type { World } from '../../policy/world.ts'
import { drawing, runs } from '../../runs.ts'
import { matrixOf } from './fixture.ts'
import { fitsRow } from './merged.ts'

const RESOURCES: Resources = {
  byName: new Map(STORED.map((one) => [one.name, one])),
  routes: STORED.flatMap(({ routes }) => routes),
}

const LAYOUT = { lineEnd: '\n', padding: ' ', comments: false } as const

describe('a matrix of members, walls and transitions', () => {
  it('grants in each cell what the oracle grants', async () => {
    let transitions = 0
    await drawing(
      () =>
        fc.assert(
          fc.property(askedAbout(TASKS), ({ world }) => {
            transitions += compareRows(world)
          }),
          { numRuns: runs(60) },
        ),
      () => {
        expect(transitions).to.be.above(0)
      },
    )
  })
})

describe('the labels of rows', () => {
  function labels(ownership: string, rules: readonly string[]): readonly string[] {
    const written = filesOf({
      'policy.csv': rules.map((rule) => `p, everyone, tasks, update, ${rule}, *, allow\n`).join(''),
      'ownership.yaml': `tasks: { relations: { ${ownership} } }`,
    })
    const { rows } = matrixOf({ files: written, resources: RESOURCES, only: ['tasks'], callers: ['everyone'] })
    expect(labelsThatStandTwice(rows)).to.deep.equal([])
    return rows.filter(({ becomes }) => becomes !== undefined).map(relationLabel)
  }

  it('stand once where the write decides states by the stored object alone', () => {
    const found = labels('mine: assigneeId, assigned: { field: assigneeId, present: true }', ['!assigned>mine'])
    expect(found.filter((label) => label.startsWith('none>'))).to.deep.equal(['none>none', 'none>mine'])
  })

  it('name what left sides ask of the result', () => {
    const ownership = 'mine: assigneeId, watched: { field: assigneeId, equals: subject.teams }'
    const found = labels(ownership, ['watched', 'any>mine'])
    expect(found).to.include.members(['watched>mine', 'watched>watched', 'watched>mine+watched'])
  })

  it('name the parts of a relation that compares a state and the caller', () => {
    const ownership =
      'mine: assigneeId, open: { field: status, in: [open] }, both: { all: [mine, open] }, either: { any: [mine, open] }'
    const found = labels(ownership, ['either', 'any>both'])
    expect(found).to.include.members(['open+either>none', 'mine+either>mine', 'mine+open+both+either>mine+both'])
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
  expect(labelsThatStandTwice(rows)).to.deep.equal([])
  const asked = { ...world, caller, policy: { ...world.policy, conditions: neverHolding(world.policy.conditions) } }
  for (const [plan, row] of rowsByPlan(plans, rows)) {
    if (plan.object === 'none') continue
    const fields = grantedBy(asked, plan)
    expect(row?.cells[0]?.outcome).to.equal(fields.size > 0 ? 'allowed' : 'denied')
    expect(row?.cells[0]?.fields).to.deep.equal([...fields].filter((field) => field !== '*').toSorted())
  }
  return plans.filter(({ transition }) => transition).length
}

function labelsThatStandTwice(rows: readonly MatrixRow[]): readonly string[] {
  const labels = rows.map((row) => `${row.methods} ${row.path} ${relationLabel(row)}`)
  return labels.filter((label, i) => labels.indexOf(label) !== i)
}

/** Each plan with its row; of merged rows the first that fits, for as many plans as a method without them has at most. */
function rowsByPlan(
  plans: readonly RowPlan[],
  rows: readonly MatrixRow[],
): readonly (readonly [RowPlan, MatrixRow | undefined])[] {
  if (rows.every(({ states }) => states === undefined)) return plans.map((plan, i) => [plan, rows[i]])
  const every = Math.ceil(plans.length / 2048)
  return plans.filter((_, i) => i % every === 0).map((plan) => [plan, rows.find((row) => fitsRow(plan, row))])
}

function grantedBy(world: World, { relations, transition, action }: RowPlan): ReadonlySet<string> {
  if (!transition) return granted(world, action.name, relations)
  return grantedOnResult(world, action.name, {
    before: relations,
    between: new Set(transition.mixed),
    after: new Set(transition.proposed),
  })
}

/** None where there would be too many rows. */
function plansOf(files: PolicyFiles, only: ReadonlySet<string>): readonly RowPlan[] {
  try {
    return planRows(parsePolicy(files, RESOURCES), RESOURCES, { only, relations: undefined })
  } catch (error) {
    if (error instanceof ToolError) return []
    throw error
  }
}

function neverHolding(conditions: ReadonlyMap<string, unknown> = new Map()) {
  return new Map([...conditions.keys()].map((name) => [name, { signedIn: { acr: ['never'] } }]))
}
