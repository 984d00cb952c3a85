/** Reads what a database knows of migrations. */

import type { FittedSchemas, StoredMigration } from '../../migrations.ts'
import type { Ask, Row } from '../../sql/statement.ts'
import { decodeText } from '../stored-text.ts'

const STORED = `select number, name, digest, begun_at, ended_at, objects, resource, id from migrations order by number`

export async function readStored(ask: Ask): Promise<readonly StoredMigration[]> {
  return (await ask({ text: STORED, values: [] })).map(migrationOf)
}

export async function readFitted(ask: Ask): Promise<FittedSchemas | undefined> {
  const [row] = await ask({ text: 'select digest, schemas from fitted_schemas', values: [] })
  return row && { digest: String(row[0]), schemas: decodeText(String(row[1])) }
}

function migrationOf([number, name, digest, begunAt, endedAt, objects, resource, id]: Row): StoredMigration {
  return {
    number: Number(number),
    name: String(name),
    digest: String(digest),
    begunAt: String(begunAt),
    endedAt: endedAt === null ? undefined : String(endedAt),
    objects: Number(objects),
    place: resource === null ? undefined : { resource: decodeText(String(resource)), id: decodeText(String(id)) },
  }
}
