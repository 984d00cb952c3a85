/** Resources of tests: one with a field of every kind, one with other relations and views, and a built-in. */
import type { Action, Field, FieldType, Resource, Resources } from '../../src/resources/resource.ts'
import type { OracleResource } from './world.ts'

export function field(name: string, type: FieldType, more: Partial<Field> = {}): Field {
  return { name, type, list: false, readOnly: false, indexed: false, unique: false, default: undefined, ...more }
}

export function resource(name: string, fields: readonly Field[], actions: readonly Action[]): Resource {
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

export const SERVER = ['id', 'createdAt', 'updatedAt'].map((name) => field(name, 'string', { readOnly: true }))

export const WITH_FIELDS = ['list', 'read', 'create', 'replace', 'update'].map((name) => ({ name, hasFields: true }))
export const WITHOUT_FIELDS = ['delete', 'options'].map((name) => ({ name, hasFields: false }))
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

export function asOracle({ name, builtIn, fields, actions, routes }: Resource): OracleResource {
  const withoutFields = [...actions.values()].filter(({ hasFields }) => !hasFields).map((action) => action.name)
  const all = [...fields.values()]
  const namesWhere = (is: (one: Field) => boolean) => all.filter(is).map((one) => one.name)
  const defaults = all.flatMap((one) => (one.default === undefined ? [] : [[one.name, one.default] as const]))
  const endpoints = routes.flatMap((route) => [...route.endpoints.values()])
  const writes = endpoints.filter(({ operation }) => operation === 'replace' || operation === 'update')
  return {
    name,
    builtIn,
    fields: [...fields.keys()],
    readOnly: namesWhere((one) => one.readOnly),
    indexed: namesWhere((one) => one.indexed || one.name === 'id'),
    withoutFields,
    lists: namesWhere((one) => one.list),
    defaults: Object.fromEntries(defaults),
    ownWrites: writes.map(({ action }) => action),
  }
}
