/** Which migrations of the folder have still to run, by what the database knows of them. */

import { FileError } from '../../base/diagnostic.ts'
import { oneOf } from '../../base/did-you-mean.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Resources } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import type { MigrationPlace, Migrations, StoredMigration } from '../../store/migrations.ts'
import type { ParsedMigration } from '../file/read-migrations.ts'
import type { Migration } from '../steps/step.ts'

export interface PendingMigration extends Migration {
  /** All objects up to this place are migrated; undefined if it hasn't begun. */
  readonly place: MigrationPlace | undefined
  readonly hasBegun: boolean
}

/**
 * In the order of their numbers. Throws MigrationRefused for a file that changed after its migration began, or comes too
 * late, and FileError for one that names an unknown resource.
 */
export function pendingOf(
  files: readonly ParsedMigration[],
  stored: readonly StoredMigration[],
  { byName }: Pick<Resources, 'byName'>,
): readonly PendingMigration[] {
  const known = new Map(stored.map((one) => [one.number, one]))
  const last = Math.max(0, ...stored.filter(({ endedAt }) => endedAt !== undefined).map(({ number }) => number))
  refuseMissing(files, stored)
  for (const file of files) refuseChanged(file, known.get(file.number), last)
  const pending = files.filter(({ number }) => known.get(number)?.endedAt === undefined)
  refuseUnknown(
    pending,
    storedResources({ byName }).map(({ name }) => name),
  )
  return pending.map((file) => {
    const before = known.get(file.number)
    return { ...file, place: before?.place, hasBegun: before !== undefined }
  })
}

/** The file of a migration that ended may go; one that runs can't go on without it. */
function refuseMissing(files: readonly ParsedMigration[], stored: readonly StoredMigration[]): void {
  const numbers = new Set(files.map(({ number }) => number))
  const missing = stored.find(({ number, endedAt }) => endedAt === undefined && !numbers.has(number))
  if (!missing) return
  throw new MigrationRefused(`the migration \`${missing.name}\` has begun, but its file is missing: put it back`)
}

function refuseChanged({ name, number, digest }: ParsedMigration, before: StoredMigration | undefined, last: number) {
  if (!before && number < last) {
    throw new MigrationRefused(
      `\`${name}\` is new, but ${numberOf(last)} has run already: give the file a higher number`,
    )
  }
  if (!before || (before.digest === digest && before.name === name)) return
  const when = before.endedAt === undefined ? 'began' : 'ran'
  const todo = 'restore it, and write the new steps into a new file'
  throw new MigrationRefused(`\`${name}\` has changed since it ${when} as \`${before.name}\`: ${todo}`)
}

function refuseUnknown(pending: readonly ParsedMigration[], names: readonly string[]): void {
  const faults = pending.flatMap(({ steps, faultOf }) => {
    const unknown = [...steps.keys()].filter((resource) => !names.includes(resource))
    return unknown.map((resource) => {
      const message = `no schema declares the resource \`${resource}\``
      return faultOf(resource, 'unknown-resource', message, oneOf(resource, names))
    })
  })
  if (faults.length > 0) throw new FileError(faults)
}

function numberOf(number: number): string {
  return String(number).padStart(4, '0')
}

export interface ObjectRange {
  readonly resource: string
  readonly after: string | undefined
  /** Undefined for all further objects. */
  readonly upTo: string | undefined
  readonly objects: readonly StoredObject[]
  /** The migrations that have not reached these objects. */
  readonly needed: readonly PendingMigration[]
}

interface MigrationStart {
  readonly migration: PendingMigration
  /** The last object that it has reached; empty for none. */
  readonly from: string
}

/** All objects of the resource that some migration has not reached, at most `limit` at a time; the last range has no end. */
export async function* rangesOf(
  store: Pick<Migrations, 'objects'>,
  resource: string,
  pending: readonly PendingMigration[],
  limit: number,
): AsyncGenerator<ObjectRange> {
  const starts = pending.flatMap((migration) => startOf(migration, resource))
  let after: string | undefined = starts.map(({ from }) => from).toSorted(byBytes)[0]
  while (after !== undefined) {
    const from: string = after
    const objects = await store.objects(resource, from || undefined, limit)
    const stop = starts.map((start) => start.from).filter((id) => byBytes(id, from) > 0)
    const upTo = endOf(objects, stop.toSorted(byBytes)[0], limit)
    yield {
      resource,
      after: from || undefined,
      upTo,
      objects: upTo === undefined ? objects : objects.filter(({ id }) => byBytes(id, upTo) <= 0),
      needed: starts.filter((start) => byBytes(start.from, from) <= 0).map(({ migration }) => migration),
    }
    after = upTo
  }
}

function startOf(migration: PendingMigration, resource: string): readonly MigrationStart[] {
  const { place, steps } = migration
  if (!steps.has(resource)) return []
  if (!place || byBytes(place.resource, resource) < 0) return [{ migration, from: '' }]
  return place.resource === resource ? [{ migration, from: place.id }] : []
}

/** `stop`: the next object that another migration has reached. */
function endOf(objects: readonly StoredObject[], stop: string | undefined, limit: number): string | undefined {
  const last = objects.length < limit ? undefined : objects.at(-1)?.id
  if (last === undefined || stop === undefined) return last ?? stop
  return byBytes(last, stop) < 0 ? last : stop
}

/** The order in which engines compare ids. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** A migration, or a start, that can't go on. The message is one sentence for whoever started it: what to do. */
export class MigrationRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'MigrationRefused'
  }
}
