/** Random stored objects of language-fixture.ts: few ids, dangling ones, nulls, lists, and parents that are gone. */
import fc from 'fast-check'
import type { Field, Resource } from '../../src/resources/resource.ts'
import { STORED } from './language-fixture.ts'
import type { Json, Plain } from './world.ts'

export const USER_IDS = ['u1', 'u2', 'u3'] as const

/** Around the time of most requests, and around the changes of summer time. */
export const TIMES = [
  '2026-11-20T10:00:00Z',
  '2026-11-20T11:00:00.001+01:00',
  '2026-11-20T09:59:59.999Z',
  '2026-11-19T10:00:00Z',
  '2026-11-22T02:30:00-05:00',
  '2026-10-25T01:45:00Z',
  '2026-03-29T06:00:00Z',
]

const CHOICES: Readonly<Record<string, readonly Json[]>> = {
  ownerId: USER_IDS,
  leadId: USER_IDS,
  userId: USER_IDS,
  assigneeId: USER_IDS,
  watchers: USER_IDS,
  viewers: ['u1', 'other'],
  projectId: ['projects-1', 'projects-2', 'gone'],
  projectIds: ['projects-1', 'projects-2', 'gone'],
  folderId: ['folders-1', 'folders-2', 'folders-3', 'gone'],
  parentId: ['folders-1', 'folders-2', 'folders-3', 'folders-3', 'gone'],
  taskIds: ['tasks-1', 'tasks-2', 'gone'],
  team: ['red', 'blue', '7'],
  teams: ['red', 'blue'],
  tenant: ['x', 'y'],
  status: ['open', 'claimed', 'done'],
  state: ['open', 'shut'],
  role: ['editor', 'viewer'],
  total: [0, 1, 5, 9.5, 10, 11],
  dueAt: [...TIMES, '2026-11-20', 'soon'],
  until: [...TIMES, ''],
  id: ['tasks-1', 'other'],
}

export function valueFor({ name, list }: Field): fc.Arbitrary<Json> {
  const value = fc.constantFrom<Json>(...(CHOICES[name] ?? ['s', 't']), null)
  return list ? fc.oneof({ weight: 4, arbitrary: fc.array(value, { maxLength: 3 }) }, fc.constant(null)) : value
}

function documentOf({ fields }: Resource): fc.Arbitrary<Plain> {
  const own = [...fields.values()].filter(({ readOnly }) => !readOnly)
  const named = own.map((field) => fc.option(valueFor(field), { nil: undefined }).map((value) => [field.name, value]))
  return fc.tuple(...named).map((entries) => Object.fromEntries(entries.filter(([, value]) => value !== undefined)))
}

function objectsOf(resource: Resource): fc.Arbitrary<readonly Plain[]> {
  const ids = resource.name === 'users' ? USER_IDS.slice(0, 2) : [1, 2, 3].map((i) => `${resource.name}-${i}`)
  // Most are there, so that chains are long.
  const minLength = resource.name === 'folders' ? ids.length : 1
  return fc.subarray(ids, { minLength }).chain((chosen) => fc.tuple(...chosen.map((id) => objectOf(resource, id))))
}

export function objectOf(resource: Resource, id: string): fc.Arbitrary<Plain> {
  const times = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-02T00:00:00.000Z' }
  return documentOf(resource).map((document) => ({ id, ...times, ...defaultsOf(resource), ...document }))
}

/** A stored object has its defaults. */
function defaultsOf({ fields }: Resource): Plain {
  const defaults = [...fields.values()].flatMap((one) => (one.default === undefined ? [] : [[one.name, one.default]]))
  return Object.fromEntries(defaults)
}

/** All that is stored, by resource. */
export const randomObjects: fc.Arbitrary<ReadonlyMap<string, readonly Plain[]>> = fc
  .tuple(...STORED.map((resource) => objectsOf(resource).map((objects) => [resource.name, objects] as const)))
  .map((all) => new Map(all))
