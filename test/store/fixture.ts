/** A resource with a field of every kind, and the permits and objects of tests. */

import { issuePermit, type ReadSet } from '../../src/decide/permits/permit.ts'
import type { Document } from '../../src/resources/object.ts'
import type { Field, FieldType, Resource, Resources } from '../../src/resources/resource.ts'
import type { ObjectChanges } from '../../src/store/changes.ts'
import type { Outbox, Seeding, Store, Transactions } from '../../src/store/contract.ts'
import type { Deliveries } from '../../src/store/deliveries.ts'
import type { Attempts, Directory } from '../../src/store/directory.ts'
import type { Migrations } from '../../src/store/migrations.ts'

/** A property name may be anything; this one has what SQL, JSON paths and Kysely treat in a special way. */
export const ODD = `a"b'c\\d.e as f`

export function field(name: string, type: FieldType, more: Partial<Field> = {}): Field {
  return { name, type, list: false, readOnly: false, indexed: false, unique: false, default: undefined, ...more }
}

export function resource(name: string, fields: readonly Field[], builtIn = false): Resource {
  const byName = new Map(fields.map((one) => [one.name, one]))
  return { name, builtIn, schema: {}, fields: byName, routes: [], actions: new Map(), validate: () => [] }
}

export function resourcesOf(...all: readonly Resource[]): Resources {
  return { byName: new Map(all.map((one) => [one.name, one])), routes: [] }
}

const SERVER = [
  field('id', 'string', { readOnly: true }),
  field('createdAt', 'string', { readOnly: true, indexed: true, time: true }),
  field('updatedAt', 'string', { readOnly: true, indexed: true, time: true }),
]

const THINGS = resource('things', [
  ...SERVER,
  field('ownerId', 'string', { indexed: true }),
  field('ownerID', 'string', { indexed: true }),
  field('status', 'string', { indexed: true }),
  field('department', 'string'),
  field('count', 'integer', { indexed: true }),
  field('price', 'number'),
  field('due', 'string', { indexed: true, time: true }),
  field('open', 'boolean', { indexed: true }),
  field('tags', 'string', { list: true, indexed: true }),
  field('scores', 'number', { list: true }),
  field('code', 'string', { unique: true }),
  field(ODD, 'string', { indexed: true }),
  field('__proto__', 'string'),
  field('extra', 'other'),
])

/** The same resources, but changes of these are kept. */
export function keepingChanges(keepMs: number, names: readonly string[] = ['things']): Resources {
  const kept = [THINGS, OTHER_THINGS].map((one) => (names.includes(one.name) ? { ...one, changes: { keepMs } } : one))
  return resourcesOf(...kept, SYSTEM)
}

/** These permits were issued by no decision. */
const NONE = { relations: [], lines: [], fieldsRefused: [], facts: {} }

/** Differs from `things` by a capital: an engine whose names ignore case must keep them apart. */
const OTHER_THINGS = resource('Things', [...SERVER, field('ownerId', 'string')])

const SYSTEM = resource('system/health', [], true)

export const RESOURCES = resourcesOf(THINGS, OTHER_THINGS, SYSTEM)

export interface Opened {
  readonly store: Store
  readonly seeding: Seeding
  readonly outbox: Outbox
  readonly directory: Directory
  readonly attempts: Attempts
  readonly migrations: Migrations
  readonly changes: ObjectChanges
  readonly deliveries: Deliveries
  readonly transactions?: Transactions | undefined
}

const NOTHING: ReadSet = { lookups: [] }

export const creation = (id: string, document: Document, name = 'things', readSet = NOTHING) =>
  issuePermit({ kind: 'create', bounds: [], resource: name, id, version: 0, document, evidence: NONE, readSet })

export const change = (id: string, version: number, document: Document, name = 'things', readSet = NOTHING) =>
  issuePermit({ kind: 'update', bounds: [], resource: name, id, version, document, evidence: NONE, readSet })

export const removal = (id: string, version: number, name = 'things', readSet = NOTHING) =>
  issuePermit({ kind: 'delete', bounds: [], resource: name, id, version, document: {}, evidence: NONE, readSet })

/** A record that no engine can keep: the fault comes in the middle of the write's transaction. */
export const UNFIT_RECORD = Symbol('no text') as unknown as string

/** What a promise was rejected with; fails when it wasn't. */
export async function failure(work: Promise<unknown> | (() => unknown)): Promise<unknown> {
  const outcome = await (typeof work === 'function' ? (async () => work())() : work).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome) return outcome.error
  throw new Error(`no failure, but ${JSON.stringify(outcome.value)}`)
}
