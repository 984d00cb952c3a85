/** `data migrate`: looks at all objects first, makes a backup, and then changes them. */
import { setImmediate } from 'node:timers/promises'
import { type ParsedMigration, readMigrations } from '../../../migrations/file/read-migrations.ts'
import { lastFitted, schemasOf } from '../../../migrations/fit/schemas.ts'
import { type PendingMigration, pendingOf } from '../../../migrations/run/pending.ts'
import { type Rehearsal, rehearse } from '../../../migrations/run/rehearse.ts'
import { type RunResult, runMigrations } from '../../../migrations/run/run-migrations.ts'
import { loadResources } from '../../../resources/load/load-resources.ts'
import type { Resources } from '../../../resources/resource.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import { whileOpen } from '../../../store/errors.ts'
import type { MigrationState } from '../../../store/migrations.ts'
import type { ObjectReader } from '../../../store/object-reader.ts'
import { type Database, openDatabase } from '../../../store/open.ts'
import { ToolError } from '../../load-policy.ts'
import { withReader } from '../../read-database.ts'

export interface DataToMigrate {
  readonly database: Database
  readonly schemas: string
  readonly migrations: string
}

export interface MigrationPlan {
  readonly resources: Resources
  readonly files: readonly ParsedMigration[]
  readonly pending: readonly PendingMigration[]
  readonly rehearsal: Rehearsal
  /** Whether the data fitted these schemas already, and no migration is pending. */
  readonly isNothingToDo: boolean
}

export interface Progress {
  readonly total: (objects: number) => void
  readonly done: (objects: number) => void
}

/** What the migrations would do. Changes nothing; a server may run. Throws FileError, MigrationRefused and ToolError. */
export async function planMigration(
  { database, schemas, migrations }: DataToMigrate,
  progress: Progress,
  signal?: AbortSignal,
): Promise<MigrationPlan> {
  const resources = await loadResources(schemas)
  const files = await readMigrations(migrations)
  return withReader(database, async (reader) => {
    const { stored, fitted } = await reader.migrationState()
    const pending = pendingOf(files, stored, resources)
    const isNothingToDo = pending.length === 0 && fitted?.digest === schemasOf(resources).digest
    if (!isNothingToDo) progress.total(await countAll(reader, resources))
    const onRead = async (objects: number) => {
      progress.done(objects)
      await setImmediate()
      return !signal?.aborted
    }
    const store = {
      objects: (name: string, after: string | undefined, limit: number) => {
        const resource = resources.byName.get(name)
        return resource ? reader.objects(resource, after, limit) : Promise.resolve([])
      },
    }
    const rehearsal = await rehearse({ store, resources, pending, fitted, onRead })
    return { resources, files, pending, rehearsal, isNothingToDo }
  })
}

async function countAll(reader: ObjectReader, resources: Resources): Promise<number> {
  let sum = 0
  for (const resource of storedResources(resources)) sum += await reader.count(resource)
  return sum
}

interface PlanRun {
  readonly database: Database
  readonly plan: MigrationPlan
  readonly hidesIds: (resource: string) => boolean
  readonly now: () => Date
  readonly signal: AbortSignal
}

/** Throws what a run throws, and ToolError. */
export async function runPlan({ database, plan, ...options }: PlanRun, progress: Progress): Promise<RunResult> {
  const { resources, files, rehearsal } = plan
  return whileOpen(
    async () => {
      const { store, migrations } = await openDatabase(database, { resources, now: options.now })
      return { migrations, close: () => store.close() }
    },
    ({ migrations }) => {
      progress.total(rehearsal.read)
      const onProgress = (_phase: string, objects: number) => progress.done(objects)
      return runMigrations({ ...options, store: migrations, resources, files, rehearsed: rehearsal, onProgress })
    },
    ({ why }) =>
      new ToolError(
        `the database \`${database.name}\` can't be used (${why}): fix that, and run the command again, ` +
          'which goes on after the last whole batch',
      ),
  )
}

export interface MigrationStatus extends MigrationState {
  readonly pending: readonly string[]
  /** Whether the objects fitted the schemas of the folder when they were last looked at. */
  readonly fitsSchemas: boolean
}

/** Which migrations ran, which run, and which have still to run. Throws what `planMigration` throws. */
export async function migrationStatus({ database, schemas, migrations }: DataToMigrate): Promise<MigrationStatus> {
  const resources = await loadResources(schemas)
  const files = await readMigrations(migrations)
  const state = await withReader(database, (reader) => reader.migrationState())
  const pending = pendingOf(files, state.stored, resources).filter(({ hasBegun }) => !hasBegun)
  return {
    ...state,
    pending: pending.map(({ name }) => name),
    fitsSchemas: lastFitted(state.fitted, resources),
  }
}
