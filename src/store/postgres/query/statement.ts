/** Statements of PostgreSQL, whose values are collected while their texts are written. */
import type { SqlValue, Statement } from '../../sql/statement.ts'
import { askedText } from './asked-for.ts'

/** Collects the values of a statement while its text is written. */
export class Parameters {
  readonly values: SqlValue[] = []

  /** The parameter that stands for the value. */
  bind(value: SqlValue): string {
    return `$${this.values.push(value)}`
  }
}

/** Values of one of many look-ups that a statement answers (asked-for.ts): they are texts, and so is what stands for them. */
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
