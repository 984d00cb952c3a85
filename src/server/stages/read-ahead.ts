/**
 * The object that a request names is read together with the standing of its caller, because two reads at once cost
 * little more than one (docs/decisions/0068). A decision that doesn't need the object leaves it.
 */

import { isPossibleId } from '../../decide/decide.ts'
import type { FactSource } from '../../decide/facts.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Store } from '../../store/contract.ts'
import type { Forwarding, Matched, ObjectAhead } from './state.ts'

export interface AheadParts {
  readonly resources: Resources
  readonly store: Pick<Store, 'get'>
}

/** The object whose id is in the path; undefined if there is none, or if it can't be read now. */
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
    // Where nobody needs it, its failure concerns nobody.
    if (object instanceof Promise) object.catch(() => {})
    return { resource: resource.name, id, object }
  } catch {
    // Whoever needs it reads it again, and meets the failure.
    return undefined
  }
}

/** These facts, with the object that was read ahead. */
export function withAhead(facts: FactSource, ahead: ObjectAhead | undefined): FactSource {
  if (!ahead) return facts
  const object: FactSource['object'] = (resource, id) =>
    resource === ahead.resource && id === ahead.id ? ahead.object : facts.object(resource, id)
  return { ...facts, object }
}
