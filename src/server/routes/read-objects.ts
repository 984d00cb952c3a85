/** GET and HEAD of an item, and of a collection: a keyset page of the objects that the caller may list and asks for. */

import { callerKey } from '../../decide/caller.ts'
import type { ReadDecision } from '../../decide/decision.ts'
import type { Abilities, Can } from '../../decide/grants/abilities.ts'
import type { ListDecision } from '../../decide/grants/list-decision.ts'
import { represent } from '../../resources/object.ts'
import type { Json, Representation } from '../../resources/resource.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import type { Counted, ListedObject, SortValue } from '../../store/contract.ts'
import { type RowWriter, readListed, rowWriter, writtenPage } from '../../store/lists/json-row.ts'
import { MemberCutter } from '../../store/lists/member-cutter.ts'
import { sortValue } from '../../store/lists/sort-value.ts'
import type { ItemRequest, ListRequest } from '../input/input.ts'
import { aggregateObjects } from './aggregate-objects.ts'
import { lostPageEnd } from './cursor.ts'
import { isKnown, WrittenJson } from './entity-tag.ts'
import { type Expanded, expand } from './expand.ts'
import type { HandledRequest, Outcome, Services } from './handler.ts'

/** In characters: a longer page end isn't put into a URL. */
const LONGEST_PAGE_END = 2000

/** `at`: the sort values of the last object of the page; `of`: its id, if the values would be too long. */
type PageEnd = { readonly at: readonly SortValue[] } | { readonly of: string }

/** Throws Problem precondition-failed, and invalid-query for `expand`. */
export function readObject(
  services: Services,
  request: HandledRequest,
  decision: ReadDecision,
  query: ItemRequest,
): Outcome | Promise<Outcome> {
  return query.can || query.expand !== undefined
    ? shownWithMore(services, request, decision, query)
    : shownObject(services, request, decision)
}

async function shownWithMore(
  services: Services,
  request: HandledRequest,
  decision: ReadDecision,
  query: ItemRequest,
): Promise<Outcome> {
  const can = query.can ? await canOn(request, decision) : undefined
  const { shown: fields, representation } = decision
  const found =
    query.expand === undefined
      ? undefined
      : await expand(services, request, query.expand, { rows: [representation], fields })
  const expanded = found?.rows[0]?.paths
  const outcome = shownObject(services, request, decision, {
    ...(can && { can: { ...can } }),
    ...(expanded && { expanded }),
  })
  return found ? { ...outcome, expanded: found.objects } : outcome
}

async function canOn(request: HandledRequest, { object }: ReadDecision): Promise<Can> {
  const abilities = await request.abilities()
  return request.ask(abilities.of(object))
}

/** `more`: members beside the fields. */
function shownObject(
  services: Services,
  request: HandledRequest,
  decision: ReadDecision,
  more?: Readonly<Record<string, Json>>,
): Outcome {
  const { object, representation: shown } = decision
  const item = { resource: request.resource.name, object }
  const { opaque, body } = more
    ? { opaque: services.tags.opaqueOf(item, shown, more), body: { ...shown, ...more } }
    : services.tags.textOf(item, decision.shown, shown)
  const headers = { ETag: `"${opaque}"` }
  // RFC 9110 section 15.4.5: 304 repeats the headers that a cache needs. Headers that depend on the caller are set for
  // every answer.
  if (isKnown(services.tags, request, item, opaque)) return { status: 304, headers, body: undefined }
  return { status: successStatus('read'), headers, body }
}

/** Throws Problem invalid-query for a cursor of another query or caller. */
export async function listObjects(
  services: Services,
  request: HandledRequest,
  decision: ListDecision,
  query: ListRequest,
): Promise<Outcome> {
  const { store, unread } = services
  const { name } = request.resource
  const { limit, order, filter } = query
  const whose = callerKey(request)
  const reader = { whose, gone: request.gone, mayBegin: () => unread.refuse(whose) }
  if (query.aggregates)
    return aggregateObjects(services, request, decision, { filter, aggregates: query.aggregates, reader })
  const selection = { where: decision.where, filter }
  const after = query.cursor === undefined ? undefined : await endOfLastPage(services, request, query, query.cursor)
  const bytes = request.snapshot.limits.answerBytes
  // One extra object shows whether there is a next page.
  const abilities = query.can ? await request.abilities() : undefined
  const marks = abilities ? [...decision.marks, ...abilities.marks] : decision.marks
  const page = { ...selection, marks, order, limit: limit + 1, bytes, ...(after && { after }) }
  const found = await store.list(name, page, reader)
  const shown = decision.rowFields(query.fields)
  const alike = shown.kind === 'alike' && !abilities && query.expand === undefined ? shown.fields : undefined
  const rows: string[] = []
  const { last, hasNext, text } = writtenPage(found, { limit, bytes, alike }, () => {
    const write = abilities ? withCan(rowWriter(shown), abilities, decision.marks.length) : rowWriter(shown)
    return query.expand === undefined ? write : keptIn(rows, write)
  })
  const { expanded, items } = await expandedRows(services, request, decision, { query, rows, text })
  const next = hasNext && last ? nextCursor(services, request, query, last) : null
  // A count can take long, and a client may be gone by now.
  if (query.counted) request.gone().throwIfAborted()
  const total = query.counted ? totalOf(await store.count(name, selection, reader), found.length) : ''
  const can = abilities ? `,"can":${JSON.stringify(abilities.collection)}` : ''
  return {
    status: successStatus('list'),
    headers: next === null ? {} : { Link: `<${nextTarget(request, query, next)}>; rel="next"` },
    body: new WrittenJson(`{"items":[${items}],"next":${JSON.stringify(next)}${total}${can}}`),
    ...(expanded && { expanded }),
  }
}

function keptIn(rows: string[], write: RowWriter): RowWriter {
  return (row) => {
    const written = write(row)
    rows.push(written)
    return written
  }
}

interface WrittenRows {
  readonly query: ListRequest
  readonly rows: readonly string[]
  /** The rows, with commas between them. */
  readonly text: string
}

async function expandedRows(
  services: Services,
  request: HandledRequest,
  { shown }: ListDecision,
  { query, rows, text }: WrittenRows,
): Promise<{ readonly items: string; readonly expanded?: Expanded['objects'] }> {
  if (query.expand === undefined) return { items: text }
  const read = rows.map((row): Representation => JSON.parse(row))
  // A path that the rows don't show would look like an object that the caller can't read.
  const fields = query.fields ?? shown
  const { rows: more, objects } = await expand(services, request, query.expand, { rows: read, fields })
  return { items: rows.map((row, i) => withMember(row, 'expanded', more[i]?.text ?? '{}')).join(), expanded: objects }
}

/** `row`: a JSON object; `json`: the value of the member. */
function withMember(row: string, name: string, json: string): string {
  return `${row.slice(0, -1)}${row === '{}' ? '' : ','}"${name}":${json}}`
}

/** `listed`: at least so many were seen. A client that reads `total` never takes a lower bound for it. */
function totalOf({ found, isExact }: Counted, listed: number): string {
  return isExact ? `,"total":${found}` : `,"totalAtLeast":${Math.max(found, listed)}`
}

/** Each row also shows what the caller can do with it; `skipped`: how many of a row's marks are for its fields. */
function withCan(write: RowWriter, abilities: Abilities, skipped: number): RowWriter {
  const texts = new Map<Can, string>()
  const fields = new MemberCutter(abilities.rowFields)
  return (row) => {
    const can = abilities.ofRow(row.id, readListed(row, fields), row.marks.slice(skipped))
    return withMember(write(row), 'can', texts.getOrInsertComputed(can, JSON.stringify))
  }
}

/** The values after which the page begins. */
async function endOfLastPage(
  { cursors, store }: Services,
  request: HandledRequest,
  query: ListRequest,
  cursor: string,
): Promise<readonly SortValue[]> {
  const pageEnd: PageEnd = JSON.parse(cursors.open(bindingOf(request, query), cursor))
  if ('at' in pageEnd) return pageEnd.at
  const object = await store.get(request.resource.name, pageEnd.of)
  if (!object) throw lostPageEnd()
  return valuesOf(represent(object), query)
}

function nextCursor({ cursors }: Services, request: HandledRequest, query: ListRequest, last: ListedObject): string {
  const fields = query.order.map(({ field }) => field)
  // Most lists are in the order of ids, for which nothing of the document is read.
  const read = fields.every((field) => field === 'id')
    ? { id: last.id }
    : readListed(last, new MemberCutter(new Set(fields)))
  const exact = JSON.stringify({ at: valuesOf(read, query) } satisfies PageEnd)
  const pageEnd = exact.length > LONGEST_PAGE_END ? JSON.stringify({ of: last.id } satisfies PageEnd) : exact
  return cursors.seal(bindingOf(request, query), pageEnd)
}

function valuesOf(whole: Representation, { order }: ListRequest): readonly SortValue[] {
  return order.map((key) => sortValue(key, whole))
}

/**
 * The route, the caller, and everything that decides which objects come in which order. The page size and the shown
 * fields may change.
 */
function bindingOf({ route, caller }: HandledRequest, { filter, order }: ListRequest): string {
  const comparisons = filter.map((one) => JSON.stringify([one.field, one.operator, one.values])).toSorted()
  const keys = order.map(({ field, descending }) => [field, descending])
  return JSON.stringify([route.path, caller?.id ?? null, comparisons, keys])
}

/** The same query, from the next page on (RFC 8288 section 3). */
function nextTarget({ path }: HandledRequest, { parameters }: ListRequest, next: string): string {
  const repeated = [...parameters].filter(([name]) => name !== 'cursor')
  const pairs = [...repeated, ['cursor', next]] as const
  return `${path}?${pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')}`
}
