/**
 * Whether a server may start on the stored objects: no migration is pending, and the objects fit the schemas. They are
 * looked at once after a change of the schemas; the database keeps what they fitted last.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { withFix } from '../../base/problems/fix.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import { MigrationRefused, type PendingMigration, pendingOf } from '../run/pending.ts'
import { rehearse } from '../run/rehearse.ts'
import { type MigrateOptions, type RunResult, runMigrations } from '../run/run-migrations.ts'
import { changedResources, schemasOf } from './schemas.ts'

export interface StartOptions
  extends Pick<MigrateOptions, 'store' | 'resources' | 'files' | 'now' | 'hidesIds' | 'refused' | 'signal'> {
  /** Whether pending migrations run first. */
  readonly migrate: boolean
  /** Logs work that takes a while. */
  readonly log: (message: string, facts: Readonly<Record<string, unknown>>) => void
}

/** How a run and a start that begin together tell who works: each looks again so often. */
const AGAIN_MS = 100
/** Another process may migrate for hours. */
const FOREVER_MS = Number.POSITIVE_INFINITY

/** Throws MigrationRefused, FileError, and what a run throws. */
export async function fitToStart(options: StartOptions): Promise<void> {
  const { store, resources, files, migrate, log } = options
  const pending = pendingOf(files, await store.stored(), resources)
  if (pending.length > 0) {
    if (!(await noteBaseline(options, pending))) {
      if (!migrate)
        throw withFix(new MigrationRefused(`${sentenceOf(pending)}: ${TO_MIGRATE}`), 'sallyport data migrate')
      log('migrating stored objects', { migrations: pending.map(({ name }) => name) })
      const result = await runMigrations({ ...options, patienceMs: FOREVER_MS })
      refuseUnended(result)
      log('stored objects are migrated', { objects: result.objects })
    }
    return
  }
  const fitted = await store.fitted()
  const wanted = schemasOf(resources)
  if (fitted?.digest === wanted.digest) return
  const changed = changedResources(resources, fitted).map(({ name }) => name)
  if (changed.length > 0 && !(await store.isEmpty(changed))) {
    log('checking stored objects, because schemas have changed', { resources: changed })
    const { firstMisfits } = await rehearse({ store, resources, pending, fitted, mostMisfits: 1 })
    if (firstMisfits[0]) throw unfit(firstMisfits[0].message)
  }
  await store.noteFitted(wanted)
}

const TO_MIGRATE = 'migrate first, or start with `--migrate`'
const TO_FIND_ALL = 'find all such objects, and write a migration for them'

function sentenceOf(pending: readonly PendingMigration[]): string {
  const begun = pending.find(({ hasBegun }) => hasBegun)
  if (begun) return `the migration \`${begun.name}\` has begun and not ended`
  const names = pending.map(({ name }) => `\`${name}\``).join(', ')
  return pending.length === 1 ? `the migration ${names} has not run` : `the migrations ${names} have not run`
}

function unfit(fault: string): MigrationRefused {
  return withFix(new MigrationRefused(`${fault}: ${TO_FIND_ALL}`), 'sallyport data check')
}

/** Throws MigrationRefused for a run that was stopped, or would leave objects that don't fit. */
function refuseUnended({ kind, rehearsal }: RunResult): void {
  if (kind === 'stopped') throw new MigrationRefused('the migration was stopped: start again to go on')
  const [first] = rehearsal.firstMisfits
  if (first) throw unfit(`nothing was migrated, because ${first.message}`)
}

/** In a database without objects, migrations have nothing to do: they count as run. */
async function noteBaseline(
  { store, resources, now }: StartOptions,
  pending: readonly PendingMigration[],
): Promise<boolean> {
  const names = storedResources(resources).map(({ name }) => name)
  if (pending.some(({ hasBegun }) => hasBegun) || !(await store.isEmpty(names))) return false
  const holder = crypto.randomUUID()
  while (!(await store.hold(holder))) await sleep(AGAIN_MS)
  try {
    const time = now().toISOString()
    await store.begin(holder, pending, time)
    const numbers = pending.map(({ number }) => number)
    await store.end(holder, numbers, schemasOf(resources), time)
  } finally {
    await store.release(holder).catch(() => undefined)
  }
  return true
}
