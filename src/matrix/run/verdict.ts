/** The rules behind an answer that wasn't expected, as far as the policy files tell. */
import { relationsOf } from '../../policy/ownership.ts'
import type { Rule } from '../../policy/policy.ts'
import { evaluate } from '../../review/evaluate.ts'
import { type Column as Asker, columnOfRoles } from '../../review/space.ts'
import type { Bound, Ground } from '../bind.ts'
import type { Column } from '../expectation.ts'
import type { Scene } from './set-up.ts'

/** Half a sentence, as in `policy.csv:19 allows it`; undefined where no rule says anything about it. */
export function rulesBehind(ground: Ground, bound: Bound, scene: Scene): string | undefined {
  const { endpoint, resource, expectation } = bound
  const action = endpoint && resource.actions.get(endpoint.action)
  if (!action || expectation.object.kind === 'missing') return undefined
  const { subjects } = askerOf(ground, expectation.column)
  const relations = new Set(relationsIn(ground, bound, scene))
  const { fields, allows, denies } = evaluate(ground.policy, { subjects, resource, action, relations })
  if (denies.length > 0) return `${placesOf(denies)} ${denies.length > 1 ? 'deny' : 'denies'} it`
  if (fields.size > 0) return `${placesOf(allows)} ${allows.length > 1 ? 'allow' : 'allows'} it`
  return 'no rule of policy.csv allows it'
}

function relationsIn(
  { policy }: Ground,
  { resource, expectation }: Bound,
  { caller, placed }: Scene,
): readonly string[] {
  const [about] = expectation.object.kind === 'none' ? [] : placed
  if (!about) return []
  return relationsOf(policy.ownership.get(resource.name), (name) => caller?.attributes[name], about.object)
}

function askerOf({ policy }: Ground, column: Column): Pick<Asker, 'subjects'> {
  if (column.kind === 'anonymous') return { subjects: new Set(['everyone', 'anonymous']) }
  if (column.kind === 'user') return { subjects: new Set(['everyone', `user:${column.id}`]) }
  return columnOfRoles(policy, column.roles)
}

function placesOf(rules: readonly Rule[]): string {
  return rules.map(({ line }) => `policy.csv:${line}`).join(', ')
}
