/**
 * Compares an answer with a matrix: whether it is the expected one, and which words of a matrix describe it exactly.
 */
import type { Views } from '../../../decide/policy.ts'
import { toldApartBy } from '../arrange/arrange-list.ts'
import type { Attributes, PlacedObject } from '../arrange/wanted-object.ts'
import type { Expected } from '../read/expectation.ts'
import type { ListedRows } from '../read/listed-rows.ts'
import { wordsFor } from './list-words.ts'
import type { Objects } from './memory-store.ts'
import type { Answer, PredictedRequest } from './predict.ts'
import { relationsAmong } from './relations-among.ts'
import { listFault, type Placed, viewFault } from './row-faults.ts'

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
  const rows = listWords(given).map((list) => ({ status, list }))
  const all = rows.filter(({ list }) => list.kind === 'all')
  const names = [...(viewsOf(request)?.keys() ?? [])].sort()
  const views = names.filter((view) => showsView(given, view)).map((view) => ({ status, view }))
  return [...rows.filter((one) => !all.includes(one)), ...views.slice(0, 1), ...all, { status }]
}

/** The views of the resource that the request is about, by name. */
export function viewsOf({ evaluated, routeMethod }: PredictedRequest): Views | undefined {
  return evaluated.policy.views.get(routeMethod.resource.name)
}

function isShowing({ routeMethod }: PredictedRequest): boolean {
  return routeMethod.endpoint.operation === 'read' || routeMethod.endpoint.operation === 'list'
}

function lists({ answer, request }: AnsweredRequest, list: ListedRows): boolean {
  if (!answer.items || !request) return false
  const rows = answer.items.map(({ shown }) => shown)
  return listFault(list, { placed: placedIn(request), alone: true }, rows) === undefined
}

/** The words for the rows of a list, the best first; empty for another answer. */
function listWords(given: AnsweredRequest): readonly ListedRows[] {
  const { answer, request } = given
  if (!answer.items || !request) return []
  const { evaluated, routeMethod } = request
  const listed = new Set(answer.items.map(({ object }) => object.id))
  const objects = placedIn(request).map(({ object, relations }) => ({ relations, listed: listed.has(object.id) }))
  const named = toldApartBy(evaluated.policy, routeMethod)
  return wordsFor(objects, named).filter((list) => lists(given, list))
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

/** By the objects of a store and the meanings of relations: many policies are asked about the same objects. */
const related = new WeakMap<Objects, WeakMap<object, readonly Placed[]>>()

const NO_OWNERSHIP = {}

/** The objects of the request's resource, with the relations of the caller to each. */
function placedIn({ evaluated, routeMethod, caller, objects, facts }: PredictedRequest): readonly Placed[] {
  const { name } = routeMethod.resource
  const ownership = evaluated.policy.ownership.get(name)
  const byOwnership = related.getOrInsertComputed(objects, () => new WeakMap<object, readonly Placed[]>())
  return byOwnership.getOrInsertComputed(ownership ?? NO_OWNERSHIP, () => {
    const attributes = caller ? { ...(objects.get('users')?.get(caller.id) ?? caller.claims), id: caller.id } : {}
    const among = { ownership, attributes: attributes as Attributes, now: facts.now, world: worldOf(objects) }
    const placed = [...(objects.get(name)?.values() ?? [])]
    return placed.map((object) => ({ object, relations: new Set(relationsAmong(among, object)) }))
  })
}

function worldOf(objects: Objects): readonly PlacedObject[] {
  return [...objects].flatMap(([resource, some]) => [...some.values()].map((object) => ({ resource, object })))
}
