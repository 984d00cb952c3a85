/**
 * `multipleOf` in decimal arithmetic. Ajv divides in binary, where 19.99 is not a multiple of 0.01; its
 * `multipleOfPrecision` is one tolerance for all numbers: too small for large numbers, and too large for small steps.
 */
import { _, type FuncKeywordDefinition, str } from 'ajv/dist/2020.js'
import { decimalOf, scaled } from '../../base/decimal.ts'

export const multipleOf: FuncKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  compile: (step: number) => (value: number) => isMultiple(value, step),
  error: {
    message: ({ schemaCode }) => str`must be a multiple of ${schemaCode}`,
    params: ({ schemaCode }) => _`{multipleOf: ${schemaCode}}`,
  },
}

/** Exact: each number counts as its shortest decimal text. `step` is positive. */
export function isMultiple(value: number, step: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(step)) return value % step === 0
  const [a, b] = [decimalOf(value), decimalOf(step)]
  const exponent = Math.min(a.exponent, b.exponent)
  return scaled(a, exponent) % scaled(b, exponent) === 0n
}
