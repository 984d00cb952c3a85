/** The faults of questions to the policy, by their schemas. */

import { isObject } from '../../base/is-object.ts'
import type { FieldFault } from '../../base/problems/problem.ts'
import { checkerOf } from '../validate/checker.ts'
import { EVALUATION_SCHEMA, EVALUATIONS_SCHEMA } from './access-schemas.ts'
import { FILTER_REQUEST_SCHEMA } from './filter-schemas.ts'

export const faultsOfEvaluation = checkerOf(EVALUATION_SCHEMA)

export const faultsOfFilter = checkerOf(FILTER_REQUEST_SCHEMA)

const faultsOfBatch = checkerOf(EVALUATIONS_SCHEMA)

/** A body without items is one evaluation. */
export function faultsOfEvaluations(body: unknown): readonly FieldFault[] {
  const faults = faultsOfBatch(body)
  return faults.length === 0 && !hasItems(body) ? faultsOfEvaluation(body) : faults
}

export function hasItems(body: unknown): boolean {
  return isObject(body) && Array.isArray(body.evaluations) && body.evaluations.length > 0
}
