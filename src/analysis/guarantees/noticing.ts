/** Which guarantees of a policy a change would break: a server refuses the changed policy then. */
import type { Guarantee, Policy } from '../../decide/policy.ts'
import { coversResource, relationColumnText } from '../../decide/rules/terms.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import { touchedActions } from '../compare.ts'
import type { Sides } from '../compared-space.ts'
import { Prover } from './prove.ts'

/** The guarantees of a policy that are proven. `now` in milliseconds since the epoch. */
export function guaranteesHeld(
  policy: Policy,
  { resources, now }: { readonly resources: Resources; readonly now: number },
): readonly Guarantee[] {
  const prover = new Prover(policy, resources, now)
  return policy.guarantees.filter((one) => prover.answer(one).kind === 'proven')
}

/** The guarantees that hold before the change and aren't proven after it. `now` in milliseconds since the epoch. */
export function guaranteesNoticing(
  guarantees: readonly Guarantee[],
  policies: Sides<Policy>,
  { resources, now }: { readonly resources: Resources; readonly now: number },
): readonly Guarantee[] {
  const prover = new Prover(policies.after, resources, now)
  const touched = new Map<string, ReadonlySet<string>>()
  const touchedOf = (name: string) => {
    const resource = resources.byName.get(name)
    return new Set(resource && touchedActions(policies, resource).map((action) => action.name))
  }
  const isTouched = (guarantee: Guarantee): boolean => {
    // What nobody can change counts for acts on one object: any action may change it.
    if (guarantee.kind === 'apart')
      return guarantee.acts.some(({ resource }) => touched.getOrInsertComputed(resource, touchedOf).size > 0)
    const changed = touched.getOrInsertComputed(guarantee.resource, touchedOf)
    return guarantee.actions.some((name) => changed.has(name))
  }
  return guarantees.filter((one) => isTouched(one) && prover.answer(one).kind !== 'proven')
}

/** What may stand behind `unless` and `when`: the relations of the resource, and the relation columns that allow something. */
export function columnsAbout({ rules, ownership }: Policy, resource: Resource): readonly string[] {
  const allows = rules.filter((rule) => rule.effect === 'allow' && coversResource(rule, resource))
  const columns = [...(ownership.get(resource.name)?.relations.keys() ?? []), ...allows.map(relationColumnText)]
  return [...new Set(columns)].filter((text) => text !== 'any')
}
