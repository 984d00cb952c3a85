/** The faults of questions to the policy, by their schemas. */

import { isObject } from '../../base/is-object.ts'
import type { FieldFault } from '../../base/problems/problem.ts'
import { checkerOf } from '../validate/checker.ts'
import { BATCH_SCHEMA, EVALUATION_SCHEMA, ITEMLESS_SCHEMA } from './access-schemas.ts'
import { FILTER_REQUEST_SCHEMA } from './filter-schemas.ts'

export const faultsOfEvaluation = checkerOf(EVALUATION_SCHEMA)

export const faultsOfFilter = checkerOf(FILTER_REQUEST_SCHEMA)

const faultsOfBatch = checkerOf(BATCH_SCHEMA)

const faultsWithoutItems = checkerOf(ITEMLESS_SCHEMA)

/** The faults of the form that the body has. */
export function faultsOfEvaluations(body: unknown): readonly FieldFault[] {
  return hasItems(body) ? faultsOfBatch(body) : faultsWithoutItems(body)
}

export function hasItems(body: unknown): boolean {
  return isObject(body) && Array.isArray(body.evaluations) && body.evaluations.length > 0
}
