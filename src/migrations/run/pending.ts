/** Which migrations of the folder have still to run, by what the database knows of them. */
import { FileError } from '../../base/diagnostic.ts'
import { oneOf } from '../../base/did-you-mean.ts'
import type { Resources } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import type { MigrationPlace, StoredMigration } from '../../store/migrations.ts'
import type { ParsedMigration } from '../file/parse-migration.ts'
import type { Migration } from '../steps/step.ts'
import { MigrationRefused } from './refused.ts'

export interface Pending extends Migration {
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
): readonly Pending[] {
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
