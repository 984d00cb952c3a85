/** The one rule without which the policy would answer a wrong cell as expected: what to look at first. */

import { rulesFor } from '../../../decide/grants/evaluate.ts'
import type { Rule } from '../../../decide/policy.ts'
import { columnOfRoles } from '../../../decide/space.ts'
import { createArrange } from '../predict/arrange.ts'
import { Grants } from '../predict/grants.ts'
import { type Ground, groundOf, holds } from '../predict/predict-cell.ts'
import { withCompared } from '../predict/samples.ts'
import { objectIn } from '../read/bodies.ts'
import type { Column, Expectation } from '../read/expectation.ts'
import type { Ground as RunGround } from './bind.ts'
import type { Result } from './result.ts'

/** Wrong cells with the rule that decides them alone as their cause; those that no single rule decides stay as they are. */
export function withDecisiveRules(run: RunGround, results: readonly Result[]): readonly Result[] {
  if (results.every(({ outcome }) => outcome !== 'failed')) return results
  const { policy, resources, bodies } = run
  const samples = withCompared(run.samples, resources, policy)
  const arrange = createArrange({ resources, samples, bodyOf: (file) => objectIn(bodies, file) })
  const ground = groundOf(resources, arrange, Date.now())
  const without = new Map<Rule, Grants>()
  const grantsWithout = (rule: Rule): Grants => {
    const rules = policy.rules.filter((one) => one !== rule)
    const grants = without.get(rule) ?? new Grants({ ...policy, rules }, ground.now)
    without.set(rule, grants)
    return grants
  }
  return results.map((result) => {
    const { expectation, outcome } = result
    if (outcome !== 'failed' || !expectation) return result
    const rule = candidates(run, ground, expectation).find((one) => holds(ground, grantsWithout(one), expectation))
    return rule ? { ...result, cause: causeOf(rule) } : result
  })
}

function causeOf({ line, effect }: Rule): string {
  return `policy.csv:${line} ${effect === 'allow' ? 'allows' : 'denies'} it`
}

/** Also rules about `read`: the answer to a write shows what a read would. Later lines first: they are the likeliest to be new. */
function candidates({ policy }: RunGround, { spots }: Ground, expectation: Expectation): readonly Rule[] {
  const spot = spots.get(`${expectation.method} ${expectation.path}`)
  if (!spot) return []
  const subjects = subjectsOf(policy, expectation.column)
  const { resource, action } = spot
  const actions = new Set([action, resource.actions.get('read') ?? action])
  return [...actions].flatMap((one) => rulesFor(policy, { subjects, resource, action: one }).toReversed())
}

/** All names that rules may call a caller of this column by. */
export function subjectsOf(policy: RunGround['policy'], column: Column): ReadonlySet<string> {
  if (column.kind === 'anonymous') return new Set(['everyone', 'anonymous'])
  if (column.kind === 'user') return new Set(['everyone', `user:${column.id}`])
  return columnOfRoles(policy, column.roles).subjects
}
