/**
 * The objects that refer to one parent, as a collection of their own (`/projects/{projectId}/tasks`). Who can't read the
 * parent finds no such collection, and finds nothing in it that hides its reference.
 */
import type { Resource } from '../../resources/resource.ts'
import { decide, type Question } from '../decide.ts'
import type { Decision } from '../decision.ts'
import type { Steps } from '../facts.ts'
import { objectRoute } from '../object-routes.ts'
import { isRefusal, type Refusal, refusalBy } from '../refusal.ts'
import type { Snapshot } from '../snapshot.ts'

export interface NamedParent {
  /** The reference that names it. */
  readonly field: string
  readonly resource: Resource
  readonly id: string
}

/** The question as without a parent, and then whether the caller may read the parent. */
export function* decideUnder(parent: NamedParent, question: Question, policy: Snapshot): Steps<Decision | Refusal> {
  const decision = yield* decide(question, policy)
  // OPTIONS and redirects concern no object.
  if (isRefusal(decision) || decision.kind === 'route') return decision
  const { resource, id, field } = parent
  const read = yield* decide({ ...question, ...objectRoute(resource, 'read', question.now), resource, id }, policy)
  if (isRefusal(read)) return refusalBy('missing', { evidence: decision.evidence })
  return decision.kind === 'list' ? decision.showing(field) : decision
}
