/**
 * Compares an answer with a matrix: whether it is the expected one, and which words of a matrix describe it exactly. The
 * words for a list are the fewest ways to relate that fit the listed objects and no others.
 */

import type { Views } from '../../../decide/policy.ts'
import { namesText } from '../../../present/quote.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { listingRelations } from '../fixture/list-fixture.ts'
import { type Attributes, relationsAmong } from '../fixture/wanted-object.ts'
import {
  type Expected,
  fitsWay,
  isListed,
  isOwnRows,
  isWritable,
  type ListedRows,
  OWN,
  type RowTerm,
  relatedBy,
  rowsText,
} from '../read/expectation.ts'
import { type Objects, placedIn } from './memory-store.ts'
import type { Answer, PredictedRequest, ToldEvent } from './predict.ts'

/** An answer and its request; without a request if no handler is reached. */
export interface AnsweredRequest {
  readonly answer: Answer
  readonly request: PredictedRequest | undefined
}

export function answers(given: AnsweredRequest, expected: Expected): boolean {
  return answerFault(expected, givenIn(given)) === undefined
}

/**
 * All words of a matrix that fit exactly; the first one is the best to write. A list of all objects can't become
 * longer, so there the fields are worth more.
 */
export function describe(given: AnsweredRequest): readonly Expected[] {
  const { answer, request } = given
  const { status } = answer
  if (answer.told) return describeTold(given, answer.told)
  if (!request || request.routeMethod.method === 'HEAD' || !isShowing(request)) return [{ status }]
  const rows = listWords(given).map((list) => ({ status, list }))
  const all = rows.filter(({ list }) => list.kind === 'all')
  const names = [...(viewsOf(request)?.keys() ?? [])].sort()
  const views = names.map((view) => ({ status, view })).filter((words) => answers(given, words))
  return [...rows.filter((one) => !all.includes(one)), ...views.slice(0, 1), ...all, { status }]
}

/** A view only if the event has exactly its fields. */
function describeTold(given: AnsweredRequest, { word, shown }: ToldEvent): readonly Expected[] {
  const words = { status: given.answer.status, told: word }
  const names = given.request && shown && word !== 'gone' ? [...(viewsOf(given.request)?.keys() ?? [])].sort() : []
  const views = names.map((view) => ({ ...words, view })).filter((one) => answers(given, one))
  return [...views.slice(0, 1), words]
}

/** The views of the resource that the request is about, by name. */
export function viewsOf({ evaluated, routeMethod }: PredictedRequest): Views | undefined {
  return evaluated.policy.views.get(routeMethod.resource.name)
}

function isShowing({ routeMethod }: PredictedRequest): boolean {
  return routeMethod.endpoint.operation === 'read' || routeMethod.endpoint.operation === 'list'
}

/** Without a request, only the status can be judged, as for HEAD. */
function givenIn({ answer, request }: AnsweredRequest): GivenAnswer {
  const { status, items, told, shown = told?.shown, of = told?.of ?? shown } = answer
  const rows = items ?? (shown && of ? [{ shown, object: of }] : [])
  return {
    status,
    method: request?.routeMethod.method ?? 'HEAD',
    rows: rows.map((row) => ({ shown: row.shown, objects: [row.object] })),
    told: told?.word,
    isList: items !== undefined,
    views: request && viewsOf(request),
    placed: () => (request ? relatedIn(request) : []),
    alone: true,
  }
}

/** The words for the rows of a list, the best first; empty for another answer. */
function listWords(given: AnsweredRequest): readonly ListedRows[] {
  const { answer, request } = given
  if (!answer.items || !request) return []
  const { evaluated, routeMethod } = request
  const listed = new Set(answer.items.map(({ object }) => object.id))
  const objects = relatedIn(request).map(({ object, relations }) => ({ relations, listed: listed.has(object.id) }))
  const named = listingRelations(evaluated.policy, routeMethod)
  return wordsFor(objects, named).filter((list) => answers(given, { status: answer.status, list }))
}

/** By the objects of a store and the meanings of relations: many policies are asked about the same objects. */
const related = new WeakMap<Objects, WeakMap<object, readonly CellObject[]>>()

const NO_OWNERSHIP = {}

/** The objects of the request's resource, with the relations of the caller to each. */
function relatedIn({ evaluated, routeMethod, caller, objects, facts }: PredictedRequest): readonly CellObject[] {
  const { name } = routeMethod.resource
  const ownership = evaluated.policy.ownership.get(name)
  const byOwnership = related.getOrInsertComputed(objects, () => new WeakMap<object, readonly CellObject[]>())
  return byOwnership.getOrInsertComputed(ownership ?? NO_OWNERSHIP, () => {
    const attributes = caller ? { ...(objects.get('users')?.get(caller.id) ?? caller.claims), id: caller.id } : {}
    const among = { ownership, attributes: attributes as Attributes, now: facts.now, world: placedIn(objects) }
    const placed = [...(objects.get(name)?.values() ?? [])]
    return placed.map((object) => ({ object, relations: new Set(relationsAmong(among, object)) }))
  })
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

/** An object of the cell, and the names of all relations that hold between the caller and it. */
export interface CellObject {
  readonly object: Representation
  readonly relations: ReadonlySet<string>
}

/** An answer of a server or of a prediction, as far as the cells of a matrix state it. */
export interface GivenAnswer {
  readonly status: number
  readonly method: string
  /** The event that the caller is told. */
  readonly told?: string | undefined
  /** All rows of a list, the one object, or that of the event; and the objects that each can show. */
  readonly rows: readonly { readonly shown: Representation; readonly objects: readonly Representation[] }[]
  readonly isList: boolean
  readonly views: Views | undefined
  readonly placed: () => readonly CellObject[]
  /** Whether the caller owns no other objects. */
  readonly alone: boolean
}

/** The difference from the expected answer, in one sentence; undefined if they agree. */
export function answerFault({ status, told, list, view }: Expected, given: GivenAnswer): string | undefined {
  const { rows, method, isList, views } = given
  if (given.status !== status) return `expected ${status}, got ${given.status}`
  if (told !== undefined && given.told !== told)
    return `expected the caller to be told ${toldText(told)}, but it was told ${toldText(given.told)}`
  // An answer to HEAD has no body to compare.
  if (method === 'HEAD') return undefined
  if (list) return isList ? listFault(list, given) : 'the answer is not a list'
  const fields = view === undefined ? undefined : views?.get(view)
  if (view === undefined) return undefined
  if (rows.length === 0 || !fields) return `the answer shows no object with the fields of the view \`${view}\``
  return rows
    .map(({ shown, objects }) => viewFault(shown, objects, { name: view, fields }))
    .find((fault) => fault !== undefined)
}

function toldText(word = 'nothing'): string {
  return word === 'nothing' ? word : `\`${word}\``
}

/** Whether the list has exactly these of the objects. Without an object that it must have, nobody can see a difference. */
function listFault(list: ListedRows, given: GivenAnswer): string | undefined {
  const placed = given.placed()
  const rows = given.rows.map(({ shown }) => shown)
  const idsOf = (some: readonly CellObject[]) => new Set(some.map(({ object }) => object.id))
  const wanted = idsOf(placed.filter(({ relations }) => isListed(list, relations)))
  const listed = new Set(rows.map(({ id }) => id))
  if (rows.some((row) => !Object.hasOwn(row, 'id')))
    return `a row of the list shows no \`id\`, so its objects can't be identified: state a view instead`
  if (wanted.size === 0 && (list.kind !== 'none' || placed.length === 0))
    return isOwnRows(list)
      ? 'no object of the caller could be put into this list'
      : `no object for ${meaningOf(list)} could be put into this list`
  const missing = [...wanted].filter((id) => !listed.has(id))
  const lacking = `the list lacks ${missing.length} of the ${wanted.size} objects that it should have`
  if (missing.length > 0) return `${lacking}, for example \`${missing[0]}\``
  if (list.kind === 'all') return undefined
  const here = idsOf(placed)
  // Relations other than the owner's may hold for objects of other cells.
  const counts = (id: Json | undefined) => here.has(id) || (given.alone && isOwnRows(list))
  const foreign = [...listed].filter((id) => !wanted.has(id) && counts(id))
  if (foreign.length === 0) return undefined
  const example = `for example \`${foreign[0]}\``
  const objects = (more: string) =>
    foreign.length === 1 ? `1 object${more && ' that is'}` : `${foreign.length} objects${more && ' that are'}`
  if (list.kind === 'none') return `the list should be empty, but it shows ${objects('')}, ${example}`
  return `the list shows ${objects('not')} not ${meaningOf(list)}, ${example}`
}

function meaningOf(list: ListedRows): string {
  return isOwnRows(list) ? "the caller's own" : `\`${rowsText(list)}\``
}

interface View {
  readonly name: string
  readonly fields: ReadonlySet<string>
}

/**
 * Whether a row shows exactly those of the view's fields that its object has. `objects`: those that the row can show.
 */
function viewFault(
  row: Representation,
  objects: readonly Representation[],
  { name, fields }: View,
): string | undefined {
  const more = Object.keys(row).filter((field) => !fields.has(field))
  if (more.length > 0) return `the answer shows ${namesText(more)}, which the view \`${name}\` does not have`
  const lacking = objects.map((object) => [...fields].filter((field) => isLacking(row, object, field)))
  const less = lacking.some((some) => some.length === 0) ? [] : (lacking[0] ?? [])
  return less.length > 0 ? `the answer lacks ${namesText(less)} of the view \`${name}\`` : undefined
}

function isLacking(row: Representation, object: Representation, field: string): boolean {
  return !Object.hasOwn(row, field) && Object.hasOwn(object, field)
}
