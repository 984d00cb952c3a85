/** What a case may not touch: on a deployment, records and objects that were there before it. */

import type { Resources } from '../../../resources/resource.ts'
import { createRouteMatcher } from '../../../resources/routing/match-route.ts'
import { readTarget } from '../../../resources/routing/request-target.ts'
import { type Caller, CannotSetUp } from '../target/server-under-test.ts'

interface Attempt {
  readonly method: string
  readonly path: string
  readonly caller: Caller | undefined
}

interface Spared {
  readonly resources: Resources
  /** Everybody of the case. */
  readonly callers: Iterable<Caller>
  /** Ids of what steps of the case created. */
  readonly created: ReadonlySet<string>
}

/** Throws CannotSetUp for a change of what the case didn't make, where its callers are people who were there before. */
export function refuseChangeOfOthers({ method, path, caller }: Attempt, { resources, callers, created }: Spared): void {
  if (!['PUT', 'PATCH', 'DELETE'].includes(method) || [...callers].every(({ fresh }) => fresh)) return
  const match = createRouteMatcher(resources.routes)(method, readTarget(path))
  if (match.kind !== 'route' || match.route.kind === 'collection') return
  const id = match.route.kind === 'caller' ? caller?.id : match.id
  if (id === undefined || created.has(id)) return
  throw new CannotSetUp(
    `${id} of ${match.route.resource} may have been there before, so nothing is tried that could change it`,
  )
}
