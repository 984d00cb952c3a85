/**
 * `?aggregate=count,sum(total)&by=status`: what a list is asked to tell of all its objects, in place of the objects. Only
 * fields that every row shows count, as for filters: else a group or a sum would tell what a view hides.
 */
import { Problem } from '../../base/problems/problem.ts'
import type { ListDecision } from '../../decide/grants/list-decision.ts'
import type { Field } from '../../resources/resource.ts'
import type { AggregateFunction, Aggregates, AskedAggregate } from './input.ts'

export const AGGREGATE = 'aggregate'
export const BY = 'by'

/** Of numbers. */
export const FUNCTIONS = ['sum', 'min', 'max', 'avg'] as const
const MOST = 10
const MOST_BY = 3
/** In one answer. */
export const MOST_GROUPS = 1000

/** What shows objects, or counts them already. */
const APART = ['limit', 'sort', 'fields', 'cursor', 'count', 'can', 'expand']

/** The fields that are named, declared or not. */
export function fieldsAggregated(parameters: ReadonlyMap<string, string>): readonly string[] {
  const asked = parameters.get(AGGREGATE)?.split(',') ?? []
  const fields = asked.flatMap((one) => /^\w+\((?<field>[^()]*)\)$/.exec(one)?.groups?.field ?? [])
  return [...fields, ...(parameters.get(BY)?.split(',') ?? [])]
}

/** Undefined where nothing of it is asked for. Throws Problem invalid-query. */
export function readAggregates(
  parameters: ReadonlyMap<string, string>,
  queryable: ListDecision['queryable'],
): Aggregates | undefined {
  const [text, by] = [parameters.get(AGGREGATE), parameters.get(BY)]
  if (text === undefined && by === undefined) return undefined
  if (text === undefined) throw refused(`${BY} needs ${AGGREGATE}; add it, as in ${AGGREGATE}=count`)
  const other = APART.find((name) => parameters.has(name))
  if (other !== undefined) throw refused(`${other} can't stand beside ${AGGREGATE}, which shows no objects; omit one`)
  return { asked: readAsked(text, queryable), by: by === undefined ? [] : readBy(by, queryable) }
}

function readAsked(text: string, queryable: ListDecision['queryable']): readonly AskedAggregate[] {
  const numbers = [...queryable.values()].filter(isNumber).map(({ name }) => name)
  return distinct(AGGREGATE, text.split(','), MOST).map((name) => {
    if (name === 'count') return { name, of: 'count' }
    const [, of, field = ''] = /^(\w+)\((\w+)\)$/.exec(name) ?? []
    const known = FUNCTIONS.find((one): one is AggregateFunction => one === of)
    if (known && numbers.includes(field)) return { name, of: known, field }
    const forms = numbers.length === 0 ? 'count' : `count, ${FUNCTIONS.map((one) => `${one}(…)`).join(', ')}`
    const fields = numbers.length === 0 ? '' : `; in brackets, one of: ${numbers.join(', ')}`
    throw refused(`${AGGREGATE} is not valid; list some of these, separated by commas: ${forms}${fields}`)
  })
}

function readBy(text: string, queryable: ListDecision['queryable']): readonly Field[] {
  return distinct(BY, text.split(','), MOST_BY).map((name) => {
    const field = queryable.get(name)
    if (field) return field
    const accepted = [...queryable.keys()].join(', ')
    throw refused(`${BY} is not valid; list some of these, separated by commas: ${accepted}`)
  })
}

function distinct(parameter: string, names: readonly string[], most: number): readonly string[] {
  if (new Set(names).size < names.length) throw refused(`${parameter} names something twice; name it once`)
  if (names.length > most) throw refused(`${parameter} must name at most ${most}`)
  return names
}

export function isNumber({ type }: Pick<Field, 'type'>): boolean {
  return type === 'integer' || type === 'number'
}

function refused(why: string): Problem {
  return new Problem('invalid-query', `The query parameter ${why}.`)
}
