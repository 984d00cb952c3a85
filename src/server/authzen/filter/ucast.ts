/**
 * A condition as UCAST, the JSON form of @ucast/core. A negation stands right at a comparison, with a branch for null
 * beside it, so that an interpreter with the logic of SQL (NULL is neither true nor false) finds the same objects.
 */
import { instantBounds } from '../../../base/time.ts'
import type { Between, Condition, Holds, Present, Time } from '../../../decide/conditions/condition.ts'
import type { Json, Resource } from '../../../resources/resource.ts'
import { bounds, type Unsupported } from './condition-sql.ts'

export type Ucast = FieldUcast | CompoundUcast

type FieldUcast = {
  readonly type: 'field'
  readonly field: string
  readonly operator: 'eq' | 'ne' | 'in' | 'gte' | 'gt' | 'lte' | 'lt' | 'elemMatch'
  readonly value: Json | Ucast
}

type CompoundUcast = {
  readonly type: 'compound'
  readonly operator: 'and' | 'or' | 'not'
  readonly value: readonly Ucast[]
}

interface UcastScope {
  readonly resource: Resource
  readonly unsupported: Unsupported
}

/** What `elemMatch` compares: the element itself. */
const ITSELF = '__itself__'

export function ucastOfCondition(condition: Condition, scope: UcastScope): Ucast {
  return ucastOf(condition, false, scope)
}

function ucastOf(condition: Condition, negated: boolean, scope: UcastScope): Ucast {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return compound((condition.kind === 'always') === negated ? 'or' : 'and', [])
    case 'all':
    case 'some': {
      const operator = (condition.kind === 'all') === negated ? 'or' : 'and'
      return compound(
        operator,
        condition.of.map((part) => ucastOf(part, negated, scope)),
      )
    }
    case 'not':
      return ucastOf(condition.of, !negated, scope)
    case 'related':
    case 'climb':
      scope.unsupported.add(
        `the filter depends on objects of \`${condition.resource}\`, which UCAST can't name: ask for SQL`,
      )
      return compound('or', [])
    default:
      return comparison(condition, negated, scope)
  }
}

function comparison(condition: Holds | Present | Between | Time, negated: boolean, scope: UcastScope): Ucast {
  const { field } = condition
  const declared = scope.resource.fields.get(field)
  if (condition.kind === 'holds' && declared?.time) {
    scope.unsupported.add(`\`${field}\` is compared as a text, and UCAST gives date-times as instants`)
  }
  if (declared?.list) {
    const element = isOne(field, 'elemMatch', found(condition, ITSELF))
    return negated ? not(element) : element
  }
  if (!negated) return found(condition, field)
  const isNull = isOne(field, 'eq', null)
  return condition.kind === 'present' ? isNull : compound('or', [isNull, not(found(condition, field))])
}

/** True for no null: an interpreter in JavaScript may take null for less than any number. */
function found(condition: Holds | Present | Between | Time, field: string): Ucast {
  const exists = field === ITSELF ? not(isOne(field, 'in', [null])) : isOne(field, 'ne', null)
  switch (condition.kind) {
    case 'holds': {
      const [only = null, ...others] = condition.values
      return others.length === 0 ? isOne(field, 'eq', only) : isOne(field, 'in', [...condition.values])
    }
    case 'present':
      return exists
    case 'between': {
      const [low, high] = bounds(condition)
      return compound('and', [exists, isOne(field, 'gte', low), isOne(field, 'lte', high)])
    }
    case 'time': {
      const { after, before } = instantBounds({ after: -Infinity, before: Infinity, ...condition })
      return compound('and', [exists, isOne(field, 'gt', after ?? null), isOne(field, 'lt', before ?? null)])
    }
  }
}

function isOne(field: string, operator: FieldUcast['operator'], value: Json | Ucast): Ucast {
  return { type: 'field', field, operator, value }
}

function compound(operator: CompoundUcast['operator'], value: readonly Ucast[]): Ucast {
  return { type: 'compound', operator, value }
}

function not(part: Ucast): Ucast {
  return compound('not', [part])
}
