/** `data migrate --draft`: writes a first migration file for a change of schemas. */
import { join } from 'node:path'
import { writeNew } from '../../../base/files/new-files.ts'
import { draftMigration } from '../../../migrations/draft/draft-migration.ts'
import { readMigrations } from '../../../migrations/file/read-migrations.ts'
import { fittedResources } from '../../../migrations/fit/schemas.ts'
import { loadResources } from '../../../resources/load/load-resources.ts'
import type { Resource } from '../../../resources/resource.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import type { Database } from '../../../store/open.ts'
import { orTell, ToolError } from '../../load-policy.ts'
import { withReader } from '../../read-database.ts'

interface Drafted {
  readonly database: Database
  /** A folder of schemas; undefined for those that the data last fitted. */
  readonly from: string | undefined
  readonly to: string
  readonly migrations: string
}

/** The name of the new file; undefined if no object needs a migration. Throws FileError, LinkOut and ToolError. */
export async function writeDraft({ database, from, to, migrations }: Drafted): Promise<string | undefined> {
  const next = byName(storedResources(await loadResources(to)))
  const old = from === undefined ? await fitted(database) : byName(storedResources(await loadResources(from)))
  const text = draftMigration(old, next)
  if (text === undefined) return undefined
  const last = (await readMigrations(migrations)).at(-1)?.number ?? 0
  const name = `${String(last + 1).padStart(4, '0')}-draft.yaml`
  await orTell(migrations, () => writeNew(migrations, [{ name, text }]))
  return join(migrations, name)
}

function byName(resources: readonly Resource[]): ReadonlyMap<string, Resource> {
  return new Map(resources.map((resource) => [resource.name, resource]))
}

async function fitted(database: Database): Promise<ReadonlyMap<string, Resource>> {
  const state = await withReader(database, (reader) => reader.migrationState())
  if (state.fitted) return fittedResources(state.fitted)
  const name = database.name
  throw new ToolError(`no server has noted the schemas of the database \`${name}\`: give the old schemas with --from`)
}
