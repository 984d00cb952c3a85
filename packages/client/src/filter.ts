/**
 * Filters: which rows of a service's own table may a subject see? An addition of Sallyport to the standard
 * (`POST /access/v1/filter`, docs/filters.md): always, never, or a condition as UCAST and as SQL.
 */
import type { Properties, Question, Resource } from './entities.ts'
import { AuthzenError } from './error.ts'
import { isObject } from './transport/caller.ts'

export interface FilterQuery extends Omit<Question, 'resource'> {
  readonly resource: Omit<Resource, 'id'>
}

export interface FilterOptions {
  /** True unless `sql` is given. */
  readonly ucast?: boolean | undefined
  readonly sql?: SqlOptions | undefined
}

export interface SqlOptions extends SqlTable {
  readonly dialect: 'postgresql' | 'sqlite'
  /** Tables of resources that a condition looks into. */
  readonly related?: Readonly<Record<string, SqlTable>> | undefined
  /** The number of the first parameter: 1. */
  readonly firstParameter?: number | undefined
}

export interface SqlTable {
  readonly table: string
  /** Of fields whose column has another name or type. */
  readonly columns?: Readonly<Record<string, string | SqlColumn>> | undefined
}

export interface SqlColumn {
  readonly column?: string | undefined
  readonly type?: string | undefined
  readonly list?: string | undefined
}

/** UCAST: `{ type: 'field', operator: 'eq', field, value }`, or `compound` with a list. */
export interface Ucast {
  readonly type: string
  readonly operator: string
  readonly field?: string
  readonly value: unknown
}

/** For a WHERE: `text` has placeholders for the parameters. */
export interface SqlCondition {
  readonly text: string
  readonly parameters: readonly unknown[]
}

interface Condition {
  readonly ucast?: Ucast
  readonly sql?: SqlCondition
}

export interface Filter extends Condition {
  /** `always`: each row. `never`: no row. `condition`: the rows that fit `ucast`, or `sql`. */
  readonly kind: 'always' | 'never' | 'condition'
  /** Which fields of a row may be shown: always, and where a condition holds too. */
  readonly fields?: {
    readonly always: readonly string[]
    readonly sometimes: readonly (Condition & { readonly fields: readonly string[] })[]
  }
  readonly context?: Properties
}

const KINDS: ReadonlySet<unknown> = new Set(['always', 'never', 'condition'])

/** Throws AuthzenError for anything that could let a row through by mistake. */
export function readFilter(body: Readonly<Record<string, unknown>>, { ucast, sql }: FilterOptions): Filter {
  const { kind, fields } = body
  if (!KINDS.has(kind)) throw faulty('`kind`')
  if (sql !== undefined && !isSql(body.sql)) throw faulty('`sql`')
  const needsUcast = kind === 'condition' && (ucast ?? sql === undefined)
  if (needsUcast && !isUcast(body.ucast)) throw faulty('`ucast`')
  if (fields !== undefined && !isFields(fields)) throw faulty('`fields`')
  return body as unknown as Filter
}

function isSql(value: unknown): boolean {
  return isObject(value) && typeof value.text === 'string' && value.text !== '' && Array.isArray(value.parameters)
}

function isUcast(value: unknown): boolean {
  return isObject(value) && typeof value.type === 'string' && typeof value.operator === 'string'
}

function isFields(value: unknown): boolean {
  return (
    isObject(value) && isTexts(value.always) && Array.isArray(value.sometimes) && value.sometimes.every(isSometimes)
  )
}

function isSometimes(value: unknown): boolean {
  return isObject(value) && isTexts(value.fields) && (isUcast(value.ucast) || isSql(value.sql))
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function faulty(member: string): AuthzenError {
  return new AuthzenError('invalid-answer', `the answer to a filter has no usable ${member}`)
}
