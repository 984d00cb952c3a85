/** Reads what a database file knows of migrations. */
import type { DatabaseSync } from 'node:sqlite'
import type { FittedSchemas, StoredMigration } from '../../migrations.ts'

const STORED = `select number, name, digest, begun_at, ended_at, objects, resource, id from migrations order by number`

export function readStored(database: DatabaseSync): readonly StoredMigration[] {
  return database.prepare(STORED).all().map(migrationOf)
}

export function readFitted(database: DatabaseSync): FittedSchemas | undefined {
  const row = database.prepare('select digest, schemas from fitted_schemas').get()
  return row && { digest: String(row.digest), schemas: String(row.schemas) }
}

function migrationOf(row: Readonly<Record<string, unknown>>): StoredMigration {
  const { number, name, digest, begun_at, ended_at, objects, resource, id } = row
  return {
    number: Number(number),
    name: String(name),
    digest: String(digest),
    begunAt: String(begun_at),
    endedAt: ended_at === null ? undefined : String(ended_at),
    objects: Number(objects),
    place: resource === null ? undefined : { resource: String(resource), id: String(id) },
  }
}
