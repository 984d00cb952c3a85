/**
 * The bodies of the Authorization API (AuthZEN 1.0) as JSON Schemas: the server checks requests with them, and the
 * OpenAPI document shows them. Unknown members are ignored, as the standard says.
 */
import type { JsonObject } from '../schema/schema-file.ts'

/** In characters: the longest type, id or name. */
const LONGEST_NAME = 1024

/** The most evaluations of one request. */
const MOST_EVALUATIONS = 1000

export const NAME: JsonObject = { type: 'string', maxLength: LONGEST_NAME }

/** Any members: without the keyword, generated types would allow none. */
const PROPERTIES: JsonObject = { type: 'object', additionalProperties: true }

export const CONTEXT_SCHEMA: JsonObject = {
  description: 'About the request that is asked about. `fields`: the fields of the object that it concerns.',
  type: 'object',
  properties: { fields: { type: 'array', minItems: 1, maxItems: 1000, items: NAME } },
  additionalProperties: true,
}

export const SUBJECT_SCHEMA: JsonObject = {
  title: 'AccessSubject',
  description: 'Who would act.',
  type: 'object',
  properties: { type: NAME, id: NAME, properties: PROPERTIES },
  required: ['type', 'id'],
}

export const RESOURCE_SCHEMA: JsonObject = {
  title: 'AccessResource',
  description: 'The object: its type is a resource of the policy. For a new object, `properties` has its fields.',
  type: 'object',
  properties: { type: NAME, id: NAME, properties: PROPERTIES },
  required: ['type', 'id'],
}

export const ACTION_SCHEMA: JsonObject = {
  title: 'AccessAction',
  description: 'An action of the policy.',
  type: 'object',
  properties: {
    name: NAME,
    properties: {
      description: '`fields`: the fields that it concerns. `body`: the body that a change would have.',
      type: 'object',
      properties: { fields: { type: 'array', minItems: 1, maxItems: 1000, items: NAME }, body: PROPERTIES },
      additionalProperties: true,
    },
  },
  required: ['name'],
}

const MEMBERS: JsonObject = {
  subject: SUBJECT_SCHEMA,
  resource: RESOURCE_SCHEMA,
  action: ACTION_SCHEMA,
  context: CONTEXT_SCHEMA,
}

export const EVALUATION_SCHEMA: JsonObject = {
  title: 'AccessEvaluation',
  description: 'May this subject do this action on this object?',
  type: 'object',
  properties: MEMBERS,
  required: ['subject', 'resource', 'action'],
}

const OPTIONS: JsonObject = {
  type: 'object',
  properties: {
    evaluations_semantic: { enum: ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] },
  },
  additionalProperties: true,
}

/** A default needn't be complete: an item may replace it. */
export const BATCH_SCHEMA: JsonObject = {
  title: 'AccessEvaluationBatch',
  type: 'object',
  properties: {
    subject: PROPERTIES,
    resource: PROPERTIES,
    action: PROPERTIES,
    context: PROPERTIES,
    evaluations: { type: 'array', minItems: 1, maxItems: MOST_EVALUATIONS, items: PROPERTIES },
    options: OPTIONS,
  },
  required: ['evaluations'],
}

/** A body without items is one evaluation, as the conformance tests of AuthZEN expect. */
export const ITEMLESS_SCHEMA: JsonObject = {
  ...EVALUATION_SCHEMA,
  title: 'AccessEvaluationAlone',
  properties: { ...MEMBERS, evaluations: { type: 'array', maxItems: 0, items: PROPERTIES }, options: OPTIONS },
}

export const EVALUATIONS_SCHEMA: JsonObject = {
  title: 'AccessEvaluations',
  description:
    'Several questions. Members beside `evaluations` are defaults of its items. Without items, one question.',
  anyOf: [BATCH_SCHEMA, ITEMLESS_SCHEMA],
}

export const DECISION_SCHEMA: JsonObject = {
  title: 'AccessDecision',
  description: 'Whether the subject may.',
  type: 'object',
  properties: {
    decision: { type: 'boolean' },
    context: {
      type: 'object',
      properties: {
        reason: { description: 'Why the decision is false, as a stable code.', type: 'string' },
        revision: { description: 'The policy that decided.', type: 'string' },
        fields: { description: 'The fields that are granted.', type: 'array', items: { type: 'string' } },
        error: {
          description: 'Why one evaluation of several could not be answered.',
          type: 'object',
          properties: { status: { type: 'integer' }, message: { type: 'string' } },
          required: ['status', 'message'],
        },
      },
      required: ['revision'],
    },
  },
  required: ['decision'],
}

export const DECISIONS_SCHEMA: JsonObject = {
  title: 'AccessDecisions',
  description: 'A decision for each evaluation, in the same order; one decision for a request without evaluations.',
  anyOf: [
    {
      title: 'AccessDecisionList',
      type: 'object',
      properties: { evaluations: { type: 'array', items: DECISION_SCHEMA } },
      required: ['evaluations'],
    },
    DECISION_SCHEMA,
  ],
}

export const METADATA_SCHEMA: JsonObject = {
  title: 'AccessConfiguration',
  description: 'Where this policy decision point answers (AuthZEN 1.0, section 9).',
  type: 'object',
  properties: Object.fromEntries(
    [
      'policy_decision_point',
      'access_evaluation_endpoint',
      'access_evaluations_endpoint',
      'search_subject_endpoint',
      'search_resource_endpoint',
      'search_action_endpoint',
    ].map((name) => [name, { type: 'string', format: 'uri' }]),
  ),
  required: ['policy_decision_point', 'access_evaluation_endpoint'],
  additionalProperties: false,
}
