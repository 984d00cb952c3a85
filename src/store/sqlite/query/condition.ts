/** A simplified condition for SQLite: an expression about one row, which looks up related objects by index. */
import type { Between, Climb, Condition, Holds, Related, Time } from '../../../decide/conditions/condition.ts'
import { instantOfText } from '../../sql/instant-of-text.ts'
import { quoteName } from '../../sql/quote.ts'
import { type ConditionKinds, writeCondition } from '../../sql/write-condition.ts'
import { comparable, jsonPath } from '../layout/schema.ts'
import { padded } from './condition-values.ts'
import { parameters } from './parameters.ts'
import { columnOf, type FieldSql, fieldSql, instantColumn, notAnObject, type Scope, within } from './scope.ts'
import { stepOfElement, stepOfRow } from './work.ts'

const KINDS: ConditionKinds<Scope> = {
  holds: holdsSql,
  present: ({ field }, scope) => someValue(field, scope, (value) => `${value} is not null`),
  between: (condition, scope) => someValue(condition.field, scope, (value) => betweenSql(condition, value)),
  time: timeSql,
  related: relatedSql,
  climb: climbSql,
}

export function conditionSql(condition: Condition, scope: Scope): string {
  return writeCondition(condition, scope, KINDS)
}

function holdsSql({ field, values }: Holds, scope: Scope): string {
  return someValue(field, scope, (value) => `${value} in (${parameters(padded(values).length)})`)
}

/** Whether a value of the field passes: the column's, or an element's. */
function someValue(field: string, scope: Scope, passes: (value: string) => string): string {
  const column = columnOf(field, scope)
  return column === undefined ? someElement(field, scope, passes) : passes(column)
}

function someElement(field: string, { inside }: Scope, passes: (value: string, type: string) => string): string {
  const value = `case when element.type <> 'array' then ${comparable('element.type', 'element.value')} end`
  return `(${notAnObject(field, inside)} and exists (
    select 1 from json_each(${inside}document, ${jsonPath(field)}) as element where ${passes(value, 'element.type')}))`
}

/** SQLite orders NULL, numbers, texts, bytes: without an upper bound, the least text is the end of the numbers. */
function betweenSql({ atLeast, atMost }: Between, value: string): string {
  const least = atLeast === undefined ? 'is not null' : '>= ?'
  return `(${value} ${least} and ${value} ${atMost === undefined ? "< ''" : '<= ?'})`
}

function timeSql(condition: Time, scope: Scope): string {
  const passes = (instant: string) => {
    const after = condition.after === undefined ? `${instant} is not null` : `${instant} > ?`
    return condition.before === undefined ? after : `(${after} and ${instant} < ?)`
  }
  const column = instantColumn(condition.field, scope)
  if (column !== undefined) return passes(column)
  return someElement(condition.field, scope, (_, type) =>
    passes(`(${instantOfText(`${type} = 'text'`, 'element.value')})`),
  )
}

/** EXISTS with an index on `by`: the related object is found from this one. */
function relatedSql({ field, resource, by, where }: Related, scope: Scope): string {
  const related = within(scope, resource)
  const own = fieldSql(field, scope, `v${related.depth}`)
  const other = fieldSql(by, related, `w${related.depth}`)
  const sources = [own.from, related.source, other.from].filter((one) => one !== undefined)
  const step = scope.steps && (other.from ? stepOfElement(`w${related.depth}`) : stepOfRow(related.inside))
  const tests = [step, own.guard, other.guard, equal(own, other), conditionSql(where, related)].filter(Boolean)
  return `exists (select 1 from ${sources.join(' cross join ')} where ${tests.join(' and ')})`
}

/** A column of the server turns a number into text before comparing, so only texts may reach it. */
function equal(own: FieldSql, other: FieldSql): string {
  if (other.isText && !own.isText) return `typeof(${own.value}) = 'text' and ${other.value} = ${own.value}`
  return own.isText && !other.isText ? `${other.value} = +${own.value}` : `${other.value} = ${own.value}`
}

/** Step by step from this object; a circle ends at the depth. */
function climbSql({ field, resource, depth, where }: Climb, scope: Scope): string {
  const first = within(scope, resource)
  const own = fieldSql(field, scope, `v${first.depth}`)
  const start = `select ${own.value}, 1${own.from ? ` from ${own.from}` : ''} where ${textsOf(own)}`
  return `exists (${stepsSql({ field, depth, start }, first)} where ${conditionSql(where, first)})`
}

/** Only texts are ids. */
function textsOf({ value, guard }: FieldSql): string {
  const isText = `typeof(${value}) = 'text'`
  return guard === undefined ? isText : `${guard} and ${isText}`
}

interface Steps {
  readonly field: string
  readonly depth: number
  /** Selects the ids of the first step, and 1. */
  readonly start: string
}

/** The objects of the scope's table that these steps reach, as a query whose last part is `where`. */
export function stepsSql({ field, depth, start }: Steps, scope: Scope): string {
  const steps = `steps${scope.depth}`
  const source = `${quoteName(scope.table.name)} as r${scope.depth}`
  const next = fieldSql(field, scope, `w${scope.depth}`)
  // Without a list, there are no more steps than the depth.
  const step = next.from ? `${stepOfElement(`w${scope.depth}`)} and ` : ''
  const further = `select ${next.value}, ${steps}.n + 1 from ${steps} cross join ${source}${next.from ? ` cross join ${next.from}` : ''}
    where ${step}${scope.inside}id = ${steps}.id and ${steps}.n < ${depth} and ${textsOf(next)}`
  return `with recursive ${steps}(id, n) as (${start} union ${further})
    select 1 from ${steps} cross join ${source} on ${scope.inside}id = ${steps}.id`
}
