/** The bodies of POST /access/v1/filter as JSON Schemas. `options` is strict: a member with a wrong name is refused. */
import type { JsonObject } from '../schema/schema-file.ts'
import { ACTION_SCHEMA, CONTEXT_SCHEMA, RESOURCE_SCHEMA, SUBJECT_SCHEMA } from './access-schemas.ts'

/** What a name in a statement may be: PostgreSQL cuts longer ones off. */
export const IDENTIFIER = '[A-Za-z_][A-Za-z0-9_]{0,62}'

/** The forms in which a column can hold a field's value; docs/filters.md describes each. */
export const COLUMN_TYPES = ['text', 'uuid', 'enum', 'bigint', 'number', 'boolean', 'timestamptz', 'epoch-ms'] as const

const NAME: JsonObject = { type: 'string', pattern: `^${IDENTIFIER}$` }

const COLUMN: JsonObject = {
  title: 'FilterColumn',
  description: "The column's name; or its name, its type, and how it holds a list.",
  anyOf: [
    NAME,
    {
      type: 'object',
      properties: { column: NAME, type: { enum: [...COLUMN_TYPES] }, list: { enum: ['array', 'json'] } },
      additionalProperties: false,
    },
  ],
}

const TABLE_MEMBERS: JsonObject = {
  table: {
    description: 'A name, perhaps after a schema.',
    type: 'string',
    pattern: `^${IDENTIFIER}(\\.${IDENTIFIER})?$`,
  },
  columns: {
    description: 'By field of the resource. Without it, each field has a column of its own name.',
    type: 'object',
    maxProperties: 1000,
    additionalProperties: COLUMN,
  },
}

const SQL_OPTIONS: JsonObject = {
  title: 'FilterSqlOptions',
  description: 'The table, as the query calls it: its name or its alias. No name may begin with `sallyport_`.',
  type: 'object',
  properties: {
    dialect: { enum: ['postgresql', 'sqlite'] },
    ...TABLE_MEMBERS,
    related: {
      description: 'The tables of other resources in the same database, by resource.',
      type: 'object',
      maxProperties: 50,
      additionalProperties: {
        title: 'FilterRelatedTable',
        type: 'object',
        properties: TABLE_MEMBERS,
        required: ['table'],
        additionalProperties: false,
      },
    },
    firstParameter: {
      description: 'PostgreSQL: the number of the first placeholder.',
      type: 'integer',
      minimum: 1,
      maximum: 30_000,
      default: 1,
    },
  },
  required: ['dialect', 'table'],
  additionalProperties: false,
}

export const FILTER_REQUEST_SCHEMA: JsonObject = {
  title: 'AccessFilterRequest',
  description: 'On which objects may this subject do this action?',
  type: 'object',
  properties: {
    subject: SUBJECT_SCHEMA,
    resource: { ...RESOURCE_SCHEMA, title: 'AccessFilterResource', required: ['type'] },
    action: ACTION_SCHEMA,
    context: CONTEXT_SCHEMA,
    options: {
      title: 'FilterOptions',
      description: 'The forms of the answer. Without `sql`, the answer is UCAST.',
      type: 'object',
      properties: { ucast: { type: 'boolean' }, sql: SQL_OPTIONS },
      // Otherwise the answer would have no form.
      if: { properties: { sql: false } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: { ucast: { const: true } } },
      additionalProperties: false,
    },
  },
  required: ['subject', 'resource', 'action'],
}

const CONDITION_MEMBERS: JsonObject = {
  ucast: {
    description: 'The condition as UCAST. Absent where nothing has to be compared.',
    type: 'object',
    properties: {
      type: { enum: ['compound', 'field'] },
      operator: { type: 'string' },
      field: { type: 'string' },
      value: {},
    },
    required: ['type', 'operator', 'value'],
  },
  sql: {
    title: 'FilterSql',
    description: 'The condition as a part of a statement, with the values of its placeholders.',
    type: 'object',
    properties: {
      text: { type: 'string' },
      parameters: { type: 'array', items: { type: ['string', 'number', 'boolean'] } },
    },
    required: ['text', 'parameters'],
  },
}

export const FILTER_SCHEMA: JsonObject = {
  title: 'AccessFilter',
  description: 'The rows on which an evaluation of the same question would be true.',
  type: 'object',
  properties: {
    kind: {
      description: 'All rows, no row, or those that the condition names.',
      enum: ['always', 'never', 'condition'],
    },
    ...CONDITION_MEMBERS,
    fields: {
      title: 'FilterFields',
      description:
        'The granted fields: on every row of the filter, and on some. Absent for an action on whole objects.',
      type: 'object',
      properties: {
        always: { type: 'array', items: { type: 'string' } },
        sometimes: {
          type: 'array',
          items: {
            type: 'object',
            properties: { fields: { type: 'array', items: { type: 'string' } }, ...CONDITION_MEMBERS },
            required: ['fields'],
          },
        },
      },
      required: ['always', 'sometimes'],
    },
    context: {
      type: 'object',
      properties: {
        reason: { description: 'Why there is no row, as a stable code.', type: 'string' },
        revision: { description: 'The policy that decided.', type: 'string' },
      },
      required: ['revision'],
    },
  },
  required: ['kind', 'context'],
}
