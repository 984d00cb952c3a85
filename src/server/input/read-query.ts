/** The query of a route; for a list (docs/http.md) filters, order, selected fields, limit and cursor. */

import { Problem } from '../../base/problems/problem.ts'
import { instantOf } from '../../base/time.ts'
import type { ListDecision, QueriedFields } from '../../decide/grants/list-decision.ts'
import type { Limits } from '../../decide/policy.ts'
import type { Field, Resource } from '../../resources/resource.ts'
import { fieldInFilter, readComparison, readQuery } from '../../resources/routing/query.ts'
import type { SortKey } from '../../store/contract.ts'
import type { HistoryRequest, ItemRequest, ListRequest } from './input.ts'
import { AGGREGATE, BY, fieldsAggregated, readAggregates } from './read-aggregates.ts'

/** Throws Problem invalid-query: for the query, which isn't empty, of a route that takes no parameters. */
export function refuseQuery(query: string): never {
  const [name = ''] = readQuery(query).keys()
  throw unknownParameter(name, [])
}

/** The query of an item. Throws Problem invalid-query. */
export function readItemQuery(
  parameters: ReadonlyMap<string, string>,
  { references }: Pick<Resource, 'references'>,
): ItemRequest {
  const accepted = references ? ['can', EXPAND] : ['can']
  for (const name of parameters.keys()) if (!accepted.includes(name)) throw unknownParameter(name, accepted)
  return { can: readCan(parameters.get('can')), expand: parameters.get(EXPAND) }
}

/** Throws Problem invalid-query. */
export function readHistoryQuery(parameters: Query, { page }: Pick<Limits, 'page'>): HistoryRequest {
  const accepted = parameters.has('at') ? ['at'] : ['at', 'limit', 'cursor']
  for (const name of parameters.keys()) if (!accepted.includes(name)) throw unknownParameter(name, accepted)
  const text = parameters.get('at')
  if (text === undefined) return { limit: readLimit(parameters.get('limit'), page), cursor: parameters.get('cursor') }
  const at = instantOf(text)
  if (at !== undefined) return { limit: 1, at }
  const form = 'a time with an offset, like 2026-12-04T18:00:00Z'
  throw new Problem('invalid-query', `The query parameter at must be ${form}; encode a + as %2B.`)
}

/** Throws Problem invalid-query. */
function readCan(text: string | undefined): boolean {
  if (text === undefined || text === 'true') return text !== undefined
  throw new Problem('invalid-query', 'The query parameter can must be true; omit it if you need no abilities.')
}

/** `accepted` contains only names that the caller may know. */
function unknownParameter(name: string, accepted: readonly string[]): Problem {
  const advice = accepted.length === 0 ? 'omit it' : `use some of: ${accepted.join(', ')}`
  return new Problem('invalid-query', `This route has no query parameter ${name}; ${advice}.`)
}

/** A field of such a name can't be filtered by (src/resources/check/fields.ts). */
const RESERVED: ReadonlySet<string> = new Set(['limit', 'sort', 'fields', 'count', 'cursor', 'can'])
/** Reserved where a resource has references: others may have a field of this name. */
const EXPAND = 'expand'

const RESERVED_WITH_REFERENCES: ReadonlySet<string> = new Set([...RESERVED, EXPAND])
const OF_AGGREGATES: ReadonlySet<string> = new Set([AGGREGATE, BY])
const [RESERVED_ALL, RESERVED_BUT_EXPAND] = [
  RESERVED_WITH_REFERENCES.union(OF_AGGREGATES),
  RESERVED.union(OF_AGGREGATES),
]

function reservedFor({ refers, aggregates }: Pick<ListDecision, 'refers' | 'aggregates'>): ReadonlySet<string> {
  if (aggregates) return refers ? RESERVED_ALL : RESERVED_BUT_EXPAND
  return refers ? RESERVED_WITH_REFERENCES : RESERVED
}

type Queryable = Pick<ListDecision, 'queryable' | 'shown' | 'refers' | 'aggregates'>
type Query = ReadonlyMap<string, string>

/**
 * Throws Problem invalid-query. A field that the caller may not query gets the same answer as a field that doesn't
 * exist; the answer names only fields that this caller may query. Afterwards the decision's evidence contains the
 * query's fields.
 */
export function readListQuery(parameters: Query, limits: Pick<Limits, 'page'>, decision: ListDecision): ListRequest {
  const named = namesIn(parameters, decision)
  try {
    const query = read(parameters, limits, decision)
    decision.recordQuery(named)
    return query
  } catch (error) {
    decision.recordQuery(named, isSound(parameters, limits, decision.widest) ? 'by the policy' : undefined)
    throw error
  }
}

/** The query of a stream of events: the filters of a list, and nothing else. Throws as readListQuery. */
export function readStreamQuery(parameters: Query, limits: Pick<Limits, 'page'>, decision: ListDecision): ListRequest {
  const other = [...parameters.keys()].find((name) => reservedFor(decision).has(name))
  if (other !== undefined) throw unknownParameter(other, [...decision.queryable.keys()])
  return readListQuery(parameters, limits, decision)
}

function namesIn(parameters: Query, decision: Pick<ListDecision, 'refers' | 'aggregates'>): QueriedFields {
  const reserved = reservedFor(decision)
  const filters = [...parameters.keys()].filter((name) => !reserved.has(name)).map(fieldInFilter)
  const sorted = parameters.get('sort')?.split(',') ?? []
  const aggregated = decision.aggregates ? fieldsAggregated(parameters) : []
  const queried = [...filters, ...sorted.map((key) => key.replace(/^-/, '')), ...aggregated]
  return { queried, selected: parameters.get('fields')?.split(',') }
}

/** Whether only the policy can be the reason to refuse it. */
function isSound(parameters: Query, limits: Pick<Limits, 'page'>, widest: Queryable): boolean {
  try {
    read(parameters, limits, widest)
    return true
  } catch {
    return false
  }
}

function read(parameters: Query, { page }: Pick<Limits, 'page'>, asked: Queryable): ListRequest {
  const { queryable, shown } = asked
  const reserved = reservedFor(asked)
  const filters = [...parameters].filter(([name]) => !reserved.has(name))
  const cursor = parameters.get('cursor')
  return {
    parameters,
    limit: readLimit(parameters.get('limit'), page),
    filter: filters.map(([name, value]) => readComparison(fieldOf(name, queryable, reserved), name, value)),
    order: readOrder(parameters.get('sort'), queryable),
    fields: readFields(parameters.get('fields'), shown),
    counted: readCounted(parameters.get('count')),
    can: readCan(parameters.get('can')),
    aggregates: asked.aggregates ? readAggregates(parameters, queryable) : undefined,
    expand: asked.refers ? parameters.get(EXPAND) : undefined,
    ...(cursor === undefined ? {} : { cursor }),
  }
}

/** `field` or `field[operator]`. */
function fieldOf(parameter: string, queryable: Queryable['queryable'], reserved: ReadonlySet<string>): Field {
  const field = queryable.get(fieldInFilter(parameter))
  if (!field) throw unknownParameter(parameter, [...reserved, ...queryable.keys()])
  return field
}

function readLimit(text: string | undefined, page: Limits['page']): number {
  if (text === undefined) return page.default
  const limit = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : Number.NaN
  if (limit <= page.max) return limit
  throw new Problem('invalid-query', `The query parameter limit must be a whole number from 1 to ${page.max}.`)
}

/**
 * The id is the default order, and decides between equal objects. It has the direction of the last key, so that an
 * index can be used.
 */
function readOrder(text: string | undefined, queryable: Queryable['queryable']): readonly SortKey[] {
  const named = text === undefined ? [] : text.split(',').map((part) => readSortKey(part, queryable))
  if (new Set(named.map(({ field }) => field)).size < named.length) {
    throw new Problem('invalid-query', 'The query parameter sort repeats a field; name each field once.')
  }
  const id = named.findIndex(({ field }) => field === 'id')
  if (id >= 0) return named.slice(0, id + 1)
  return [...named, { field: 'id', by: 'value', descending: named.at(-1)?.descending ?? false }]
}

function readSortKey(part: string, queryable: Queryable['queryable']): SortKey {
  const descending = part.startsWith('-')
  const field = queryable.get(descending ? part.slice(1) : part)
  if (field) return { field: field.name, by: field.time ? 'time' : 'value', descending }
  const accepted = [...queryable.keys()].join(', ')
  const form = 'separated by commas, with - before a descending one'
  throw new Problem('invalid-query', `The query parameter sort is not valid; list some of these, ${form}: ${accepted}.`)
}

/** A field that only some rows show is simply absent from the others. */
function readFields(text: string | undefined, shown: ReadonlySet<string>): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined
  const named = text.split(',')
  const fields = new Set(named)
  if (fields.size < named.length) {
    throw new Problem('invalid-query', 'The query parameter fields repeats a field; name each field once.')
  }
  if (named.every((name) => shown.has(name))) return fields
  const accepted = [...shown].join(', ')
  const detail = `The query parameter fields is not valid; list some of these, separated by commas: ${accepted}.`
  throw new Problem('invalid-query', detail)
}

function readCounted(text: string | undefined): boolean {
  if (text === undefined || text === 'exact') return text !== undefined
  throw new Problem('invalid-query', 'The query parameter count must be exact; omit it if you need no total.')
}
