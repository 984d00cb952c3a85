/** Resources of random tests of the second edition: tasks in projects with memberships, in folders, owned by users. */
import type { Action, Field, Method, Resource, Resources, Route } from '../../src/resources/resource.ts'
import { asOracle, field, HEALTH, resource, SERVER, WITH_FIELDS, WITHOUT_FIELDS } from './fixture.ts'

function indexed(name: string, more: Partial<Field> = {}): Field {
  return field(name, 'string', { indexed: true, ...more })
}

const STANDARD: readonly Action[] = [...WITH_FIELDS, ...WITHOUT_FIELDS]

function withRoutes(name: string, fields: readonly Field[], own: readonly Action[] = []): Resource {
  const made = resource(name, [...SERVER, indexed('tenant'), ...fields], [...STANDARD, ...own])
  const claims = own.map(({ name: action }) => routeTo(made, `/${name}/{id}/${action}`, { PATCH: ['update', action] }))
  return { ...made, routes: [...routesTo(made), ...claims] }
}

type Methods = Partial<Record<Method, Operated>>
type Operated = readonly [
  operation: 'list' | 'read' | 'create' | 'replace' | 'update' | 'delete' | 'options',
  action: string,
]

function routesTo(made: Resource): readonly Route[] {
  const item: Methods = { GET: ['read', 'read'], PUT: ['replace', 'replace'], PATCH: ['update', 'update'] }
  return [
    routeTo(made, `/${made.name}`, { GET: ['list', 'list'], POST: ['create', 'create'] }),
    routeTo(made, `/${made.name}/{id}`, { ...item, DELETE: ['delete', 'delete'] }),
  ]
}

function routeTo({ name }: Resource, path: string, methods: Methods): Route {
  const all: Methods = { ...methods, OPTIONS: ['options', 'options'] }
  const endpoints = new Map(
    Object.entries(all).map(([method, [operation, action]]) => [method as Method, { operation, action }]),
  )
  const allow = [...endpoints.keys()].join(', ')
  return { path, resource: name, kind: path.includes('{id}') ? 'item' : 'collection', endpoints, allow }
}

export const TASKS = withRoutes(
  'tasks',
  [
    indexed('ownerId'),
    indexed('projectId'),
    field('projectIds', 'string', { list: true }),
    indexed('folderId'),
    indexed('assigneeId'),
    field('watchers', 'string', { list: true }),
    indexed('team'),
    indexed('status', { default: 'open' }),
    field('total', 'number'),
    indexed('dueAt', { time: true }),
    field('note', 'string'),
  ],
  [{ name: 'claim', hasFields: true }],
)

const PROJECTS = withRoutes('projects', [indexed('leadId'), indexed('state'), field('name', 'string')])

export const MEMBERSHIPS = withRoutes('memberships', [
  indexed('projectId'),
  indexed('userId'),
  indexed('role'),
  indexed('until', { time: true }),
  field('taskIds', 'string', { list: true }),
])

export const FOLDERS = withRoutes('folders', [
  indexed('parentId'),
  field('viewers', 'string', { list: true }),
  indexed('state'),
])

export const USERS = withRoutes('users', [field('teams', 'string', { list: true })])

export const STORED: readonly Resource[] = [TASKS, PROJECTS, MEMBERSHIPS, FOLDERS, USERS]

export const ORACLE_RESOURCES = [...STORED, HEALTH].map(asOracle)
export const LANGUAGE_RESOURCES: Resources = {
  byName: new Map([...STORED, HEALTH].map((one) => [one.name, one])),
  routes: STORED.flatMap(({ routes }) => routes),
}
