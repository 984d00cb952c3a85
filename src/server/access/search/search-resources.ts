/**
 * The candidates of a resource search: the stored objects that meet the policy's condition for the subject and the
 * action, as a list finds them, or with a body as a change may begin with them. No other object can be allowed.
 */
import type { Condition } from '../../../decide/conditions/condition.ts'
import { passRoleLevel, type Question } from '../../../decide/decide.ts'
import type { CallerGrants } from '../../../decide/grants/caller-grants.ts'
import { actionNamed } from '../../../decide/grants/trust.ts'
import { isBlocked } from '../../../policy/parse/parse-blocked.ts'
import type { Route } from '../../../resources/resource.ts'
import type { Store } from '../../../store/contract.ts'
import type { Asker } from '../asker.ts'
import type { Evaluation } from '../entities.ts'
import { type AskedRoute, routeAsked } from '../route-asked.ts'
import { subjectOf } from '../subject.ts'
import type { KnownSubject } from '../trust/known-subject.ts'
import { knownConditions } from '../trust/told-conditions.ts'
import { type Candidates, NO_CANDIDATES } from './candidates.ts'
import { idsAfter } from './ids-after.ts'
import type { ResourceSearch } from './search-request.ts'

export async function objectsFor(
  asker: Asker,
  store: Pick<Store, 'list'>,
  search: ResourceSearch,
): Promise<Candidates> {
  const { subject, action, resource, context } = search
  const evaluationOf = (id: string) => ({
    subject,
    action,
    resource: { type: resource.type, id },
    ...(context && { context }),
  })
  const target = routeAsked(asker.resources, resource.type, actionNamed(asker.trust, resource.type, action.name))
  // A new object isn't stored, so a search can't find it.
  if ('reason' in target || target.resource.external || target.endpoint.operation === 'create') return NO_CANDIDATES
  const found = await subjectOf(asker, subject)
  if ('reason' in found) return NO_CANDIDATES
  const grants = await asker.ask(
    passRoleLevel(listing(asker, { target, subject: found, evaluation: evaluationOf('') }), asker.policy.snapshot),
  )
  if (grants.kind !== 'grants') return NO_CANDIDATES
  const where = candidatesWhere(grants, target, search)
  return async (after, most) => {
    const ids = await idsAfter(store, { resource: resource.type, where, by: asker }, after, most)
    return ids.map((id) => {
      const evaluation = evaluationOf(id)
      return { key: id, evaluation, result: evaluation.resource }
    })
  }
}

/** What a change would make of an object counts only if the question has its body. */
function candidatesWhere(grants: CallerGrants, { endpoint }: AskedRoute, { action }: ResourceSearch): Condition {
  const { table, asking, conditions, view } = grants
  const changes = endpoint.operation === 'update' || endpoint.operation === 'replace'
  if (changes && action.properties?.body) return table.whereStored(asking, conditions.holding)
  return table.where(asking, conditions.holding, view)
}

interface Asked {
  readonly target: AskedRoute
  readonly subject: KnownSubject
  readonly evaluation: Evaluation
}

/**
 * The question that a list by this action would be. An evaluation is true only if it is true whichever way the unknown
 * conditions are, so it is also true where none of them holds.
 */
function listing(asker: Asker, { target, subject, evaluation }: Asked): Question {
  const { policy, now } = asker
  const { caller } = subject
  const known = knownConditions(asker, evaluation, subject)
  return {
    ...target,
    route: shownBy(target),
    endpoint: { ...target.endpoint, operation: 'list' },
    subject: policy.snapshot.subjectOf(caller),
    blocked: isBlocked(policy.blocked, caller.id, now),
    now,
    holding: (condition) => known(condition) ?? false,
  }
}

/** A view limits what a read shows, not what a write may change. */
function shownBy({ route: { view, ...route }, endpoint }: AskedRoute): Route {
  return endpoint.operation === 'read' && view !== undefined ? { ...route, view } : route
}
