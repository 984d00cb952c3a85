/**
 * The bodies of the Authorization API (AuthZEN 1.0) as JSON Schemas: the server checks requests with them, and the
 * OpenAPI document shows them. Unknown members are ignored, as the standard says.
 */
import type { JsonObject } from '../schema/schema-file.ts'
import { closedObjectOf, listOf, objectOf, openObjectOf, TEXT } from './make.ts'

/** In characters: the longest type, id or name. */
const LONGEST_NAME = 1024

/** The most evaluations of one request. */
const MOST_EVALUATIONS = 1000

export const NAME: JsonObject = { type: 'string', maxLength: LONGEST_NAME }

const PROPERTIES: JsonObject = { type: 'object', additionalProperties: true }

const FIELDS = listOf(NAME, { minItems: 1, maxItems: 1000 })

export const CONTEXT_SCHEMA: JsonObject = {
  description: 'About the request that is asked about. `fields`: the fields of the object that it concerns.',
  ...openObjectOf({ fields: FIELDS }),
}

export const SUBJECT_SCHEMA: JsonObject = {
  title: 'AccessSubject',
  description: 'Who would act.',
  ...objectOf({ type: NAME, id: NAME }, { properties: PROPERTIES }),
}

export const RESOURCE_SCHEMA: JsonObject = {
  title: 'AccessResource',
  description: 'The object: its type is a resource of the policy. For a new object, `properties` has its fields.',
  ...objectOf({ type: NAME, id: NAME }, { properties: PROPERTIES }),
}

const ACTION_PROPERTIES: JsonObject = {
  description: '`fields`: the fields that it concerns. `body`: the body that a change would have.',
  ...openObjectOf({ fields: FIELDS, body: PROPERTIES }),
}

export const ACTION_SCHEMA: JsonObject = {
  title: 'AccessAction',
  description: 'An action of the policy.',
  ...objectOf({ name: NAME }, { properties: ACTION_PROPERTIES }),
}

const QUESTION = { subject: SUBJECT_SCHEMA, resource: RESOURCE_SCHEMA, action: ACTION_SCHEMA }

export const EVALUATION_SCHEMA: JsonObject = {
  title: 'AccessEvaluation',
  description: 'May this subject do this action on this object?',
  ...objectOf(QUESTION, { context: CONTEXT_SCHEMA }),
}

const OPTIONS = openObjectOf({
  evaluations_semantic: { enum: ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] },
})

/** A default needn't be complete: an item may replace it. */
export const BATCH_SCHEMA: JsonObject = {
  title: 'AccessEvaluationBatch',
  ...objectOf(
    {},
    {
      subject: PROPERTIES,
      resource: PROPERTIES,
      action: PROPERTIES,
      context: PROPERTIES,
      evaluations: listOf(PROPERTIES, { minItems: 1, maxItems: MOST_EVALUATIONS }),
      options: OPTIONS,
    },
  ),
  required: ['evaluations'],
}

/** A body without items is one evaluation, as the conformance tests of AuthZEN expect. */
export const ITEMLESS_SCHEMA: JsonObject = {
  title: 'AccessEvaluationAlone',
  description: EVALUATION_SCHEMA.description ?? '',
  ...objectOf(QUESTION, {
    context: CONTEXT_SCHEMA,
    evaluations: listOf(PROPERTIES, { maxItems: 0 }),
    options: OPTIONS,
  }),
}

export const EVALUATIONS_SCHEMA: JsonObject = {
  title: 'AccessEvaluations',
  description:
    'Several questions. Members beside `evaluations` are defaults of its items. Without items, one question.',
  anyOf: [BATCH_SCHEMA, ITEMLESS_SCHEMA],
}

const ERROR: JsonObject = {
  description: 'Why one evaluation of several could not be answered.',
  ...objectOf({ status: { type: 'integer' }, message: TEXT }),
}

export const REVISION: JsonObject = { description: 'The policy that decided.', type: 'string' }

const REASONS = objectOf(
  { revision: REVISION },
  {
    reason: { description: 'Why the decision is false, as a stable code.', type: 'string' },
    fields: { description: 'The fields that are granted.', ...listOf(TEXT) },
    error: ERROR,
  },
)

export const DECISION_SCHEMA: JsonObject = {
  title: 'AccessDecision',
  description: 'Whether the subject may.',
  ...objectOf({ decision: { type: 'boolean' } }, { context: REASONS }),
}

export const DECISIONS_SCHEMA: JsonObject = {
  title: 'AccessDecisions',
  description: 'A decision for each evaluation, in the same order; one decision for a request without evaluations.',
  anyOf: [{ title: 'AccessDecisionList', ...objectOf({ evaluations: listOf(DECISION_SCHEMA) }) }, DECISION_SCHEMA],
}

const URI: JsonObject = { type: 'string', format: 'uri' }

export const METADATA_SCHEMA: JsonObject = {
  title: 'AccessConfiguration',
  description: 'Where this policy decision point answers (AuthZEN 1.0, section 9).',
  ...closedObjectOf(
    { policy_decision_point: URI, access_evaluation_endpoint: URI },
    {
      access_evaluations_endpoint: URI,
      search_subject_endpoint: URI,
      search_resource_endpoint: URI,
      search_action_endpoint: URI,
    },
  ),
}
