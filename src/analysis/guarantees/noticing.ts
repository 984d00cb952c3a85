/** Which guarantees of a policy a change would break: a server refuses the changed policy then. */
import type { Guarantee, Policy } from '../../decide/policy.ts'
import type { Resources } from '../../resources/resource.ts'
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
  return guarantees.filter(({ resource, actions, ...rest }) => {
    const changed = touched.getOrInsertComputed(resource, touchedOf)
    const isTouched = actions.some((name) => changed.has(name))
    return isTouched && prover.answer({ resource, actions, ...rest }).kind !== 'proven'
  })
}
