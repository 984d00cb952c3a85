/**
 * Compares an answer with a matrix: whether it is the expected one, and which words of a matrix describe it exactly. The
 * words for a list are the fewest ways to relate that fit the listed objects and no others.
 */
import type { Views } from '../../../decide/policy.ts'
import { toldApartBy } from '../arrange/arrange-list.ts'
import type { Attributes, PlacedObject } from '../arrange/wanted-object.ts'
import type { Expected } from '../read/expectation.ts'
import { fitsWay, isWritable, type ListedRows, OWN, type RowTerm, relatedBy } from '../read/listed-rows.ts'
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

interface Listable {
  /** All relations that hold between the caller and the object. */
  readonly relations: ReadonlySet<string>
  readonly listed: boolean
}

/** The most relations of one way, unless there is no other way than to name all of them. */
const MOST_TERMS = 3

/** Every choice that fits, the best first. `named`: the relations that rules about the list name. */
function wordsFor(objects: readonly Listable[], named: readonly string[]): readonly ListedRows[] {
  const own: readonly ListedRows[] = objects.every(({ relations, listed }) => relations.has('owner') === listed)
    ? [OWN]
    : []
  if (objects.every(({ listed }) => listed)) return [...own, { kind: 'all' }]
  if (objects.every(({ listed }) => !listed)) return [{ kind: 'none' }]
  if (own.length > 0) return own
  const ways = waysThatFit(objects, named.filter(isWritable))
  return ways ? [relatedBy(ways)] : []
}

/** Undefined if these relations don't tell the listed objects from the others. */
function waysThatFit(objects: readonly Listable[], names: readonly string[]): readonly RowTerm[] | undefined {
  const fitting = shortestWays(objects, names)
  const chosen: RowTerm[] = []
  let open = objects.filter(({ listed }) => listed)
  while (open.length > 0) {
    const [first] = open
    const exactly = first && exactWay(first, names)
    const gain = (way: RowTerm) => open.filter(({ relations }) => fitsWay(way, relations)).length
    const best = fitting.reduce<RowTerm | undefined>(
      (one, way) => (gain(way) > (one ? gain(one) : 0) ? way : one),
      undefined,
    )
    const way = best ?? (exactly && fitsOnlyListed(objects, exactly) ? exactly : undefined)
    if (!way) return undefined
    chosen.push(way)
    open = open.filter(({ relations }) => !fitsWay(way, relations))
  }
  return chosen
}

/** The ways that fit listed objects only, without those that a shorter one contains. Relations that hold come first. */
function shortestWays(objects: readonly Listable[], names: readonly string[]): readonly RowTerm[] {
  const fitting: RowTerm[] = []
  let longer: readonly RowTerm[] = [{ held: [], lacking: [] }]
  for (let length = 1; length <= MOST_TERMS; length++) {
    const grown = longer.flatMap((way) => extended(way, names)).toSorted((a, b) => a.lacking.length - b.lacking.length)
    const here = grown.filter((way) => fitsOnlyListed(objects, way))
    fitting.push(...here)
    // Nothing is gained from a way that no listed object fits.
    longer = grown.filter(
      (way) => !here.includes(way) && objects.some((one) => one.listed && fitsWay(way, one.relations)),
    )
  }
  return fitting
}

/** By one relation that comes after all of its own, so that each way is made once. */
function extended({ held, lacking }: RowTerm, names: readonly string[]): readonly RowTerm[] {
  const last = Math.max(-1, ...[...held, ...lacking].map((name) => names.indexOf(name)))
  return names.slice(last + 1).flatMap((name) => [
    { held: [...held, name].sort(), lacking },
    { held, lacking: [...lacking, name].sort() },
  ])
}

function fitsOnlyListed(objects: readonly Listable[], way: RowTerm): boolean {
  const fitting = objects.filter(({ relations }) => fitsWay(way, relations))
  return fitting.length > 0 && fitting.every(({ listed }) => listed)
}

function exactWay({ relations }: Listable, names: readonly string[]): RowTerm {
  const [held, lacking] = [names.filter((name) => relations.has(name)), names.filter((name) => !relations.has(name))]
  return { held: held.sort(), lacking: lacking.sort() }
}
