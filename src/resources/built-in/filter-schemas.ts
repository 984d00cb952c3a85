/** The bodies of POST /access/v1/filter as JSON Schemas. `options` is strict: a member with a wrong name is refused. */
import type { JsonObject } from '../schema/schema-file.ts'
import { ACTION_SCHEMA, CONTEXT_SCHEMA, RESOURCE_SCHEMA, REVISION, SUBJECT_SCHEMA } from './access-schemas.ts'
import { closedObjectOf, listOf, objectOf, TEXT } from './make.ts'

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
    closedObjectOf({}, { column: NAME, type: { enum: [...COLUMN_TYPES] }, list: { enum: ['array', 'json'] } }),
  ],
}

const TABLE: JsonObject = {
  description: 'A name, perhaps after a schema.',
  type: 'string',
  pattern: `^${IDENTIFIER}(\\.${IDENTIFIER})?$`,
}

const COLUMNS: JsonObject = {
  description: 'By field of the resource. Without it, each field has a column of its own name.',
  type: 'object',
  maxProperties: 1000,
  additionalProperties: COLUMN,
}

const RELATED: JsonObject = {
  description: 'The tables of other resources in the same database, by resource.',
  type: 'object',
  maxProperties: 50,
  additionalProperties: { title: 'FilterRelatedTable', ...closedObjectOf({ table: TABLE }, { columns: COLUMNS }) },
}

const FIRST_PARAMETER: JsonObject = {
  description: 'PostgreSQL: the number of the first placeholder.',
  type: 'integer',
  minimum: 1,
  maximum: 30_000,
  default: 1,
}

const SQL_OPTIONS: JsonObject = {
  title: 'FilterSqlOptions',
  description: 'The table, as the query calls it: its name or its alias. No name may begin with `sallyport_`.',
  ...closedObjectOf(
    { dialect: { enum: ['postgresql', 'sqlite'] }, table: TABLE },
    { columns: COLUMNS, related: RELATED, firstParameter: FIRST_PARAMETER },
  ),
}

const FILTER_OPTIONS: JsonObject = {
  title: 'FilterOptions',
  description: 'The forms of the answer. Without `sql`, the answer is UCAST.',
  ...closedObjectOf({}, { ucast: { type: 'boolean' }, sql: SQL_OPTIONS }),
  // Otherwise the answer would have no form.
  if: { properties: { sql: false } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { properties: { ucast: { const: true } } },
}

export const FILTER_REQUEST_SCHEMA: JsonObject = {
  title: 'AccessFilterRequest',
  description: 'On which objects may this subject do this action?',
  ...objectOf(
    {
      subject: SUBJECT_SCHEMA,
      resource: { ...RESOURCE_SCHEMA, title: 'AccessFilterResource', required: ['type'] },
      action: ACTION_SCHEMA,
    },
    { context: CONTEXT_SCHEMA, options: FILTER_OPTIONS },
  ),
}

const UCAST: JsonObject = {
  description: 'The condition as UCAST. Absent where nothing has to be compared.',
  ...objectOf({ type: { enum: ['compound', 'field'] }, operator: TEXT, value: {} }, { field: TEXT }),
}

const SQL: JsonObject = {
  title: 'FilterSql',
  description: 'The condition as a part of a statement, with the values of its placeholders.',
  ...objectOf({ text: TEXT, parameters: listOf({ type: ['string', 'number', 'boolean'] }) }),
}

const FIELDS: JsonObject = {
  title: 'FilterFields',
  description: 'The granted fields: on every row of the filter, and on some. Absent for an action on whole objects.',
  ...objectOf({
    always: listOf(TEXT),
    sometimes: listOf(objectOf({ fields: listOf(TEXT) }, { ucast: UCAST, sql: SQL })),
  }),
}

export const FILTER_SCHEMA: JsonObject = {
  title: 'AccessFilter',
  description: 'The rows on which an evaluation of the same question would be true.',
  ...objectOf(
    {
      kind: {
        description: 'All rows, no row, or those that the condition names.',
        enum: ['always', 'never', 'condition'],
      },
      context: objectOf(
        { revision: REVISION },
        { reason: { description: 'Why there is no row, as a stable code.', type: 'string' } },
      ),
    },
    { ucast: UCAST, sql: SQL, fields: FIELDS },
  ),
}
