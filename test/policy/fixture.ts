/** Resources of tests: one with a field of every kind, one with other relations and views, and a built-in. */
import type { Action, Field, FieldType, Resource, Resources } from '../../src/resources/resource.ts'
import type { OracleResource } from './world.ts'

function field(name: string, type: FieldType, more: Partial<Field> = {}): Field {
  return { name, type, list: false, readOnly: false, indexed: false, unique: false, default: undefined, ...more }
}

function resource(name: string, fields: readonly Field[], actions: readonly Action[]): Resource {
  return {
    name,
    builtIn: name.startsWith('system/'),
    schema: {},
    fields: new Map(fields.map((one) => [one.name, one])),
    routes: [],
    actions: new Map(actions.map((action) => [action.name, action])),
    validate: () => [],
  }
}

const SERVER = ['id', 'createdAt', 'updatedAt'].map((name) => field(name, 'string', { readOnly: true }))

const WITH_FIELDS = ['list', 'read', 'create', 'replace', 'update'].map((name) => ({ name, hasFields: true }))
const WITHOUT_FIELDS = ['delete', 'options'].map((name) => ({ name, hasFields: false }))
const PEEK: Action = { name: 'peek', hasFields: true }

export const DOCS = resource(
  'docs',
  [
    ...SERVER,
    field('ownerId', 'string', { indexed: true }),
    field('members', 'string', { list: true }),
    field('team', 'string'),
    field('status', 'string', { indexed: true }),
    field('count', 'integer', { indexed: true }),
    field('open', 'boolean', { indexed: true }),
    field('secret', 'string'),
    field('extra', 'other'),
  ],
  [...WITH_FIELDS, ...WITHOUT_FIELDS, PEEK],
)

export const JOBS = resource(
  'jobs',
  [...SERVER, field('by', 'string', { indexed: true }), field('status', 'string'), field('team', 'string')],
  [...WITH_FIELDS, ...WITHOUT_FIELDS],
)

export const HEALTH = resource(
  'system/health',
  [],
  ['read', 'options'].map((name) => ({ name, hasFields: false })),
)

export const RESOURCES: Resources = {
  byName: new Map([DOCS, JOBS, HEALTH].map((one) => [one.name, one])),
  routes: [],
}

export function asOracle({ name, builtIn, fields, actions }: Resource): OracleResource {
  const withoutFields = [...actions.values()].filter(({ hasFields }) => !hasFields).map((action) => action.name)
  const readOnly = [...fields.values()].filter((one) => one.readOnly).map((one) => one.name)
  const indexed = [...fields.values()].filter((one) => one.indexed || one.name === 'id').map((one) => one.name)
  return { name, builtIn, fields: [...fields.keys()], readOnly, indexed, withoutFields }
}
