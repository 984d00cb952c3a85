/** Statements of PostgreSQL, whose values are collected while their texts are written. */
import type { QueriedTable as Queried } from '../../sql/condition.ts'
import type { SqlValue, Statement } from '../../sql/statement.ts'

/** Collects the values of a statement while its text is written. */
export class Parameters {
  readonly values: SqlValue[] = []

  /** The parameter that stands for the value. */
  bind(value: SqlValue): string {
    return `$${this.values.push(value)}`
  }
}

/**
 * Values of one of many look-ups that a statement answers (ASKED_FOR): they are texts, and so is what stands for them.
 */
export class AskedValues extends Parameters {
  override bind(value: SqlValue): string {
    if (typeof value !== 'string' && typeof value !== 'number') throw new Error('only texts and numbers are asked for')
    return askedText(this.values.push(String(value)) - 1)
  }
}

/** Writes a statement. */
export function statement(write: (parameters: Parameters) => string): Statement {
  const parameters = new Parameters()
  return { text: write(parameters), values: parameters.values }
}

/** Parts of statements that answer many look-ups at once (connections/gathered.ts). */

/**
 * What is asked for: a row for each look-up, with its place from 1 as `nth`. It is bound as one JSON list with a list
 * of texts for each look-up. PostgreSQL guesses the length of an `unnest`ed array, and would plan each statement again.
 */
export const ASKED_FOR = 'jsonb_array_elements($1::jsonb) with ordinality as asked(texts, nth)'

/** The nth text of a look-up, from 0. */
export function askedText(nth: number): string {
  return `(asked.texts ->> ${nth})`
}

/**
 * The row that a look-up by a key selects. With its limit, PostgreSQL plans each look-up by itself, by the index;
 * without it, it may read the whole table, as it does for many look-ups in a table that was small when it planned.
 */
export function oneRow(select: string): string {
  return `lateral (${select} limit 1)`
}

export interface QueriedTable extends Queried {
  /** The indexed fields, if no stored object has a list there. */
  readonly scalars: ReadonlySet<string>
}

export type TableOf = (resource: string) => QueriedTable
