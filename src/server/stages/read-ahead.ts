/**
 * The object that a request names is read together with the standing of its caller, in one look at the database, because
 * two reads at once cost little more than one (docs/decisions/0081).
 */

import { isPossibleId } from '../../decide/decide.ts'
import type { Steps } from '../../decide/facts.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Store } from '../../store/contract.ts'
import type { Forwarding, Matched, ObjectAhead } from './state.ts'

export interface AheadParts {
  readonly resources: Resources
  readonly store: Pick<Store, 'get'>
}

/** The object whose id is in the path; undefined if there is none, or if it isn't at hand. */
export function readAhead(
  { resources, store }: AheadParts,
  { match, forwarded }: Matched & Forwarding,
): ObjectAhead | undefined {
  if (match.kind !== 'route' || match.endpoint.operation === 'options' || forwarded) return undefined
  const { id, route } = match
  const resource = resources.byName.get(route.resource)
  if (id === undefined || !isPossibleId(id) || !resource || resource.builtIn) return undefined
  try {
    const object = store.get(resource.name, id)
    return object instanceof Promise ? undefined : { resource: resource.name, id, object }
  } catch {
    // Whoever needs it reads it again, and meets the failure.
    return undefined
  }
}

/**
 * The decision, if this object is the only fact that it needs. Undefined for others: the users record of the caller, or
 * a membership, would be newer than the object, and the decision could rest on a state that never was.
 */
export function decideAhead<T>(steps: Steps<T>, { resource, id, object }: ObjectAhead): T | undefined {
  let step = steps.next()
  while (!step.done) {
    const need = step.value
    if (need.kind !== 'object' || need.resource !== resource || need.id !== id) return undefined
    step = steps.next(object)
  }
  return step.value
}
