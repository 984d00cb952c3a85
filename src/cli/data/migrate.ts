/** Rehearses and runs migrations for `sallyport data migrate`, and reports what became of them. */
import { existsSync } from 'node:fs'
import { setExitCode } from '../../base/command-process.ts'
import type { Config } from '../../config/config.ts'
import type { RunResult } from '../../migrations/run/run-migrations.ts'
import { print, printNote, printResult } from '../../present/print.ts'
import { withoutSecrets } from '../../present/without-secrets.ts'
import { backUp } from '../../tools/backup/back-up.ts'
import { type MigrationReport, reportOf, reportText, statusText } from '../../tools/data/migrate/formats.ts'
import {
  type MigrationPlan,
  migrationStatus,
  type Progress,
  planMigration,
  runPlan,
} from '../../tools/data/migrate/migrate-data.ts'
import { writeDraft } from '../../tools/data/migrate/write-draft.ts'
import { ToolError } from '../../tools/load-policy.ts'
import { stopSignal, withProgress } from '../progress.ts'

interface MigrateSettings extends Config {
  /** The folder of migrations, if a flag or the environment names one. */
  readonly named: string | undefined
  readonly dryRun?: true
  readonly status?: true
  readonly draft?: true
  /** With `--draft`: folders of schemas. */
  readonly from?: string
  readonly to?: string
  /** False with `--no-backup`. */
  readonly backup: boolean
  readonly format: 'text' | 'json'
}

/** Throws FileError, MigrationRefused and ToolError. */
export async function migrateData(settings: MigrateSettings, program: string): Promise<void> {
  if (settings.draft) return draft(settings)
  refuseNoFolder(settings)
  if (settings.status) return showStatus(settings)
  const stop = stopSignal('stopping after this batch; press Ctrl-C again to end at once', 'ended at once')
  const plan = await inProgress('checking', (progress) => planMigration(settings, progress, stop))
  const outcome = outcomeWithoutRun(plan, settings, stop)
  if (outcome) return show(settings, reportOf(plan, outcome))
  const backup = settings.backup && plan.pending.length > 0 ? await backUpFirst(settings, program) : undefined
  const { database } = settings
  const result = await inProgress('migrating', (progress) =>
    runPlan({ database, plan, now: () => new Date(), signal: stop }, progress),
  )
  show(settings, reportOf(plan, result.kind, backup), result)
}

/** Only the usual folder may be missing: another one that somebody named may be misspelt. */
function refuseNoFolder({ migrations, named }: MigrateSettings): void {
  if (!named || existsSync(migrations)) return
  throw new ToolError(`there is no folder \`${withoutSecrets(migrations)}\`: name the folder of the migrations`)
}

async function draft({ database, schemas, migrations, from, to = schemas }: MigrateSettings): Promise<void> {
  const file = await writeDraft({ database, from, to, migrations })
  print(`${file ?? 'No migration is needed: all objects that fitted the old schemas fit the new ones.'}\n`)
}

function outcomeWithoutRun(
  { isNothingToDo, rehearsal }: MigrationPlan,
  { dryRun }: MigrateSettings,
  stop: AbortSignal,
): MigrationReport['outcome'] | undefined {
  if (isNothingToDo) return 'nothing'
  if (stop.aborted) return 'stopped'
  if (rehearsal.misfits > 0) return 'unfit'
  return dryRun && 'rehearsed'
}

async function backUpFirst(config: Config, program: string): Promise<string> {
  const { file } = await backUp({ config, file: undefined, recipients: [], program, now: new Date() })
  printNote(`Archived in ${file}.\n`)
  return file
}

async function showStatus(settings: MigrateSettings): Promise<void> {
  const status = await migrationStatus(settings)
  const { stored, pending, fitsSchemas } = status
  const migrations = stored.map(({ endedAt = null, place = null, ...rest }) => ({ ...rest, endedAt, place }))
  printResult(settings.format, { migrations, pending, fitsSchemas }, statusText(status))
}

function show({ format }: MigrateSettings, report: MigrationReport, result?: RunResult): void {
  printResult(format, report, reportText(report, result))
  if (report.outcome === 'unfit' || report.outcome === 'stopped') setExitCode(1)
}

function inProgress<T>(what: string, work: (progress: Progress) => Promise<T>): Promise<T> {
  return withProgress(`${what} {bar} {percentage}% {eta_formatted} left`, (bar) =>
    work({ total: (objects) => bar.start(objects, 0), done: (objects) => bar.increment(objects) }),
  )
}
