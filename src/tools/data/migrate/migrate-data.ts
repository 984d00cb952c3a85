/** `data migrate`: looks at all objects first, makes a backup, and then changes them. */
import { setImmediate } from 'node:timers/promises'
import type { Config } from '../../../config/config.ts'
import { refusalOfChange, roleGuaranteesOf } from '../../../decide/role-guarantees.ts'
import { hidesIds } from '../../../decision-log/mask.ts'
import { type ParsedMigration, readMigrations } from '../../../migrations/file/read-migrations.ts'
import { lastFitted, schemasOf } from '../../../migrations/fit/schemas.ts'
import { type PendingMigration, pendingOf } from '../../../migrations/run/pending.ts'
import { type Rehearsal, rehearse } from '../../../migrations/run/rehearse.ts'
import { type MigrateOptions, type RunResult, runMigrations } from '../../../migrations/run/run-migrations.ts'
import { loadResources } from '../../../resources/load/load-resources.ts'
import type { Resources } from '../../../resources/resource.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import { whileOpen } from '../../../store/errors.ts'
import type { MigrationState } from '../../../store/migrations.ts'
import type { ObjectReader } from '../../../store/object-reader.ts'
import { type Database, openDatabase } from '../../../store/open.ts'
import { loadPolicy, ToolError } from '../../load-policy.ts'
import { withReader } from '../../read-database.ts'

export type DataToMigrate = Pick<Config, 'database' | 'schemas' | 'migrations' | 'policies'>

export interface MigrationPlan {
  readonly resources: Resources
  readonly files: readonly ParsedMigration[]
  readonly pending: readonly PendingMigration[]
  readonly rehearsal: Rehearsal
  readonly policy: PolicyOfMigration
  /** Whether the data fitted these schemas already, and no migration is pending. */
  readonly isNothingToDo: boolean
}

export interface Progress {
  readonly total: (objects: number) => void
  readonly done: (objects: number) => void
}

/** As masks.yaml and guarantees.yaml say. */
type PolicyOfMigration = Pick<MigrateOptions, 'hidesIds' | 'refused'>

/** A policy that doesn't fit the schemas says nothing: then ids stay out of records, and only `data check` finds people. */
async function policyOf({ policies }: DataToMigrate, resources: Resources): Promise<PolicyOfMigration> {
  try {
    const { policy } = await loadPolicy(policies, resources)
    const refused = refusalOfChange(roleGuaranteesOf(policy))
    return { hidesIds: (resource) => hidesIds(policy.masks, resource), refused }
  } catch {
    return { hidesIds: () => true }
  }
}

/** What the migrations would do. Changes nothing; a server may run. Throws FileError, MigrationRefused and ToolError. */
export async function planMigration(
  asked: DataToMigrate,
  progress: Progress,
  signal?: AbortSignal,
): Promise<MigrationPlan> {
  const { database, schemas, migrations } = asked
  const resources = await loadResources(schemas)
  const files = await readMigrations(migrations)
  const policy = await policyOf(asked, resources)
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
    const rehearsal = await rehearse({ store, resources, pending, fitted, refused: policy.refused, onRead })
    return { resources, files, pending, rehearsal, policy, isNothingToDo }
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
  readonly now: () => Date
  readonly signal: AbortSignal
}

/** Throws what a run throws, and ToolError. */
export async function runPlan({ database, plan, ...options }: PlanRun, progress: Progress): Promise<RunResult> {
  const { resources, files, rehearsal, policy } = plan
  return whileOpen(
    async () => {
      const { store, migrations } = await openDatabase(database, { resources, now: options.now })
      return { migrations, close: () => store.close() }
    },
    ({ migrations }) => {
      progress.total(rehearsal.read)
      const onProgress = (_phase: string, objects: number) => progress.done(objects)
      return runMigrations({
        ...options,
        ...policy,
        store: migrations,
        resources,
        files,
        rehearsed: rehearsal,
        onProgress,
      })
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
export async function migrationStatus({
  database,
  schemas,
  migrations,
}: Omit<DataToMigrate, 'policies'>): Promise<MigrationStatus> {
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
