/** `?aggregate=…`: what a list tells of all its objects together, in place of a page of them. */
import { decimalOf, decimalText, divided } from '../../base/decimal.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { ListDecision } from '../../decide/grants/list-decision.ts'
import type { Json } from '../../resources/resource.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import { type AggregatedGroup, LONGEST_GROUPED, type NumbersFound, type ReadBy } from '../../store/contract.ts'
import { compareSortValues } from '../../store/lists/sort-value.ts'
import type { AggregateFunction, Aggregates, ListRequest } from '../input/input.ts'
import { MOST_GROUPS } from '../input/read-aggregates.ts'
import type { HandledRequest, Outcome, Services } from './handler.ts'

/** Throws Problem invalid-query, and what the store throws. */
export async function aggregateObjects(
  { store }: Pick<Services, 'store'>,
  { resource }: Pick<HandledRequest, 'resource'>,
  { where }: ListDecision,
  { filter, aggregates, reader }: Pick<ListRequest, 'filter'> & { aggregates: Aggregates; reader: ReadBy },
): Promise<Outcome> {
  const { asked, by } = aggregates
  const of = [...new Set(asked.flatMap((one) => (one.of === 'count' ? [] : [one.field])))]
  // One more tells that there are too many.
  const groups = await store.aggregate(resource.name, { where, filter, by, of, limit: MOST_GROUPS + 1 }, reader)
  if (groups.length > MOST_GROUPS) throw refused(`more than ${MOST_GROUPS} groups; filter the list, or group by less`)
  if (groups.some(({ isCut }) => isCut)) throw refused(`texts of more than ${LONGEST_GROUPED} bytes; group by less`)
  const body = { items: [], next: null, groups: groups.toSorted(inOrder).map((one) => told(one, of, aggregates)) }
  return { status: successStatus('list'), headers: {}, body }
}

function refused(found: string): Problem {
  return new Problem('invalid-query', `The fields of the query parameter by have ${found}.`)
}

function inOrder(one: AggregatedGroup, other: AggregatedGroup): number {
  return one.values.reduce<number>((order, value, at) => order || compareSortValues(value, other.values[at] ?? null), 0)
}

function told({ values, count, numbers }: AggregatedGroup, of: readonly string[], { asked, by }: Aggregates) {
  const found = asked.map((one): [string, Json] => {
    if (one.of === 'count') return [one.name, count]
    const seen = numbers[of.indexOf(one.field)]
    if (!seen) throw new Error(`nothing was computed of ${one.field}`)
    return [one.name, VALUES[one.of](seen)]
  })
  const named = by.map(({ name }, at) => [name, values[at] ?? null])
  return { ...(by.length > 0 && { by: Object.fromEntries(named) }), ...Object.fromEntries(found) }
}

const VALUES: Readonly<Record<AggregateFunction, (found: NumbersFound) => Json>> = {
  sum: ({ sum }) => exact(sum),
  min: ({ least }) => (least === null ? null : exact(least)),
  max: ({ most }) => (most === null ? null : exact(most)),
  avg: ({ sum, count }) => (count === 0 ? null : divided(decimalOf(sum), count)),
}

/** As a number, or as a text with all digits where a double would round it. */
function exact(text: string): Json {
  const [digits, value] = [decimalText(decimalOf(text)), Number(text)]
  return Number.isFinite(value) && decimalText(decimalOf(value)) === digits ? value : digits
}
