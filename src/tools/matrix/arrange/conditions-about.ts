/** The conditions of the request that rules about an endpoint name. */

import { namedConditions } from '../../../analysis/possible-sets.ts'
import type { Policy } from '../../../decide/policy.ts'
import type { Action, Endpoint, Resource } from '../../../resources/resource.ts'

const SHOWING: readonly string[] = ['create', 'replace', 'update']

/** In the order of conditions.yaml. Those that only an asking service can tell hold for no request to a route. */
export function conditionsAbout(
  policy: Policy,
  resource: Resource,
  endpoint: Pick<Endpoint, 'action' | 'operation'> | undefined,
): readonly string[] {
  const actions = actionsAbout(policy, resource, endpoint)
  const named = new Set(actions.flatMap((action) => namedConditions(policy, resource, action)))
  return [...policy.conditions.values()]
    .filter(({ name, kind }) => named.has(name) && kind !== 'told')
    .map(({ name }) => name)
}

/** Rules about reading decide what the answer to a write shows, and what is concealed. */
export function actionsAbout(
  { ownership }: Pick<Policy, 'ownership'>,
  { name, actions }: Resource,
  endpoint: Pick<Endpoint, 'action' | 'operation'> | undefined,
): readonly Action[] {
  const isRead = SHOWING.includes(endpoint?.operation ?? '') || ownership.get(name)?.conceal
  const names = [...(endpoint ? [endpoint.action] : []), ...(isRead ? ['read'] : [])]
  return [...new Set(names.flatMap((one) => actions.get(one) ?? []))]
}
