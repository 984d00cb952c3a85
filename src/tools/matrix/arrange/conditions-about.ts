/** The conditions of the request that rules about an endpoint name. */
import type { Policy } from '../../../decide/policy.ts'
import { namedConditions } from '../../../decide/relations/possible-sets.ts'
import type { Endpoint, Resource } from '../../../resources/resource.ts'

/** In the order of conditions.yaml. Rules about reading count too: they decide what an answer shows. */
export function conditionsAbout(
  policy: Policy,
  resource: Resource,
  endpoint: Pick<Endpoint, 'action'> | undefined,
): readonly string[] {
  const actions = [endpoint?.action ?? '', 'read'].flatMap((name) => resource.actions.get(name) ?? [])
  const named = new Set(actions.flatMap((action) => namedConditions(policy, resource, action)))
  return [...policy.conditions.keys()].filter((name) => named.has(name))
}
