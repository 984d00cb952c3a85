/**
 * Compares an answer with a matrix: whether it is the expected one, and which words of a matrix describe it exactly.
 */
import type { Views } from '../../../decide/policy.ts'
import { relationsOf } from '../../../decide/relations/ownership.ts'
import { askingAs } from '../../../decide/relations/relation-kind.ts'
import type { Representation } from '../../../resources/resource.ts'
import type { Expected } from '../read/expectation.ts'
import type { Answer, PredictedRequest } from './answer.ts'
import { listFault, viewFault } from './row-faults.ts'

/** An answer and its request; without a request if no handler is reached. */
export interface AnsweredRequest {
  readonly answer: Answer
  readonly request: PredictedRequest | undefined
}

export function answers(given: AnsweredRequest, { status, view, list }: Expected): boolean {
  if (given.answer.status !== status) return false
  // An answer to HEAD has no body to compare.
  if (!given.request || given.request.routeMethod.method === 'HEAD') return true
  if (list !== undefined && !lists(given, list)) return false
  return view === undefined || showsView(given, view)
}

/**
 * All words of a matrix that fit exactly; the first one is the best to write. A list of all objects can't become
 * longer, so there the fields are worth more.
 */
export function describe(given: AnsweredRequest): readonly Expected[] {
  const { answer, request } = given
  const { status } = answer
  if (!request || request.routeMethod.method === 'HEAD' || !isShowing(request)) return [{ status }]
  const [own, all] = (['own', 'all'] as const).map((list) => (lists(given, list) ? [{ status, list }] : []))
  const names = [...(viewsOf(request)?.keys() ?? [])].sort()
  const views = names.filter((view) => showsView(given, view)).map((view) => ({ status, view }))
  return [...(own ?? []), ...views.slice(0, 1), ...(all ?? []), { status }]
}

/** The views of the resource that the request is about, by name. */
export function viewsOf({ evaluated, routeMethod }: PredictedRequest): Views | undefined {
  return evaluated.policy.views.get(routeMethod.resource.name)
}

function isShowing({ routeMethod }: PredictedRequest): boolean {
  return routeMethod.endpoint.operation === 'read' || routeMethod.endpoint.operation === 'list'
}

function lists({ answer, request }: AnsweredRequest, list: 'own' | 'all'): boolean {
  if (!answer.items || !request) return false
  const stored = [...(request.objects.get(request.routeMethod.resource.name)?.values() ?? [])]
  const placed = stored.map((object) => ({ object, own: isOwn(request, object) }))
  const rows = answer.items.map(({ shown }) => shown)
  return listFault(list, { placed, alone: true }, rows) === undefined
}

function showsView({ answer, request }: AnsweredRequest, view: string): boolean {
  if (!request) return false
  const fields = viewsOf(request)?.get(view)
  const rows = answer.items ?? (answer.shown ? [{ shown: answer.shown, object: answer.of ?? answer.shown }] : [])
  return (
    fields !== undefined &&
    rows.length > 0 &&
    rows.every(({ shown, object }) => !viewFault(shown, [object], { name: view, fields }))
  )
}

/** Whether the caller is the object's owner. */
function isOwn({ evaluated, routeMethod, caller, objects, now }: PredictedRequest, object: Representation): boolean {
  const attributes = caller && { ...(objects.get('users')?.get(caller.id) ?? caller.claims), id: caller.id }
  const ownership = evaluated.policy.ownership.get(routeMethod.resource.name)
  return relationsOf(ownership, askingAs(attributes ?? {}, now), object).includes('owner')
}
