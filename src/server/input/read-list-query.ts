/** The query of a list (docs/lists.md): filters, order, selected fields, limit and cursor. */

import { Problem } from '../../base/problems/problem.ts'
import type { ListDecision, QueriedFields } from '../../decide/grants/list-decision.ts'
import type { Limits } from '../../decide/policy.ts'
import type { Field } from '../../resources/resource.ts'
import type { SortKey } from '../../store/contract.ts'
import type { ListRequest } from './input.ts'
import { readComparison } from './read-comparison.ts'
import { readCan, unknownParameter } from './read-query.ts'

/** A field of such a name can't be filtered by (src/resources/check/fields.ts). */
const RESERVED: ReadonlySet<string> = new Set(['limit', 'sort', 'fields', 'count', 'cursor', 'can'])

type Queryable = Pick<ListDecision, 'queryable' | 'shown'>
type Parameters = ReadonlyMap<string, string>

/**
 * Throws Problem invalid-query. A field that the caller may not query gets the same answer as a field that doesn't
 * exist; the answer names only fields that this caller may query. Afterwards the decision's evidence contains the
 * query's fields.
 */
export function readListQuery(
  parameters: Parameters,
  limits: Pick<Limits, 'page'>,
  decision: ListDecision,
): ListRequest {
  const named = namesIn(parameters)
  try {
    const query = read(parameters, limits, decision)
    decision.tellQuery(named)
    return query
  } catch (error) {
    decision.tellQuery(named, isSound(parameters, limits, decision.widest) ? 'by the policy' : undefined)
    throw error
  }
}

function namesIn(parameters: Parameters): QueriedFields {
  const filters = [...parameters.keys()].filter((name) => !RESERVED.has(name)).map(withoutOperator)
  const sorted = parameters.get('sort')?.split(',') ?? []
  const queried = [...filters, ...sorted.map((key) => key.replace(/^-/, ''))]
  return { queried, selected: parameters.get('fields')?.split(',') }
}

/** Whether only the policy can be the reason to refuse it. */
function isSound(parameters: Parameters, limits: Pick<Limits, 'page'>, widest: Queryable): boolean {
  try {
    read(parameters, limits, widest)
    return true
  } catch {
    return false
  }
}

function read(parameters: Parameters, { page }: Pick<Limits, 'page'>, { queryable, shown }: Queryable): ListRequest {
  const filters = [...parameters].filter(([name]) => !RESERVED.has(name))
  const cursor = parameters.get('cursor')
  return {
    parameters,
    limit: readLimit(parameters.get('limit'), page),
    filter: filters.map(([name, value]) => readComparison(fieldOf(name, queryable), name, value)),
    order: readOrder(parameters.get('sort'), queryable),
    fields: readFields(parameters.get('fields'), shown),
    counted: readCounted(parameters.get('count')),
    can: readCan(parameters.get('can')),
    ...(cursor === undefined ? {} : { cursor }),
  }
}

function withoutOperator(parameter: string): string {
  return parameter.replace(/\[[^[\]]*\]$/, '')
}

/** `field` or `field[operator]`. */
function fieldOf(parameter: string, queryable: Queryable['queryable']): Field {
  const field = queryable.get(withoutOperator(parameter))
  if (!field) throw unknownParameter(parameter, [...RESERVED, ...queryable.keys()])
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
