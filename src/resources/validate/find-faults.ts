/** The faults of a value by a compiled schema: all of a common value, and the first one of a large value. */
import type { ValidateFunction } from 'ajv/dist/2020.js'
import type { FieldFault } from '../../base/problems/problem.ts'
import { fieldFaults } from './ajv-errors.ts'

/** With more values in it, a body could have thousands of faults, and finding them all would keep others waiting. */
const MOST_VALUES = 1000

/** `compile`: with all errors, or up to the first one. Either is compiled when it is first needed. */
export function faultFinder(
  compile: (errors: 'all' | 'first') => ValidateFunction,
): (value: unknown) => readonly FieldFault[] {
  let all: ValidateFunction | undefined
  let first: ValidateFunction | undefined
  return (value) => {
    const isLarge = countValues(value) > MOST_VALUES
    if (isLarge) first ??= compile('first')
    else all ??= compile('all')
    const validate = isLarge ? first : all
    return validate?.(value) ? [] : fieldFaults(validate?.errors ?? [])
  }
}

/** How many values are in it, itself included; of a large one, a little more than MOST_VALUES. */
function countValues(value: unknown): number {
  let count = 1
  if (typeof value !== 'object' || value === null) return count
  for (const one of Array.isArray(value) ? value : Object.values(value)) {
    count += countValues(one)
    if (count > MOST_VALUES) break
  }
  return count
}
