/** What a dialect of SQL must be able to say about a value; postgresql.ts and sqlite.ts say it. */

import type { Scalar } from '../../../resources/object.ts'
import type { ColumnType, MappedColumn } from './tables.ts'

/** Binds a value and returns its placeholder. */
export type Bind = (value: Scalar) => string

/** An expression that is NULL where the field has no value of this type. */
export interface ValueSql {
  readonly sql: string
  readonly type: ColumnType
  /** A column may have an index; an element of a list has none. */
  readonly isColumn: boolean
}

/** The elements of a list: `from` gives one row for each. */
export interface ElementsSql {
  readonly from: string
  readonly value: ValueSql
  /** Whether the element is a value at all. */
  readonly present: string
}

/** Instants in milliseconds since the epoch: `from` is included, `to` is not. */
export interface Period {
  readonly from: number
  readonly to: number
}

export interface Dialect {
  readonly name: 'postgresql' | 'sqlite'
  readonly types: readonly ColumnType[]
  readonly lists: readonly NonNullable<MappedColumn['list']>[]
  /** A placeholder of a statement: the number of the parameter counts from 1. */
  placeholder(number: number): string
  /** Whether the value is one of these; `wanted` isn't empty. */
  among(value: ValueSql, wanted: readonly Scalar[], bind: Bind): string
  /** Whether the number lies between the bounds, both included. */
  between(value: ValueSql, atLeast: number, atMost: number, bind: Bind): string
  /** Whether the instant lies in the period; undefined for a type that can't tell. */
  within(value: ValueSql, period: Period, bind: Bind): string | undefined
  /** Whether two texts are the same; or two values of one other type. */
  equal(one: ValueSql, other: ValueSql): string
  /** `column`: the column's SQL; `name`: of the table of elements. */
  elements(column: string, described: MappedColumn, name: string): ElementsSql
  /** A list that has one of these, so that an index on lists can help; undefined where none could. */
  overlaps?(column: string, described: MappedColumn, wanted: readonly Scalar[], bind: Bind): string | undefined
}
