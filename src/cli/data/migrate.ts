/** sallyport data migrate */

import { existsSync } from 'node:fs'
import { environment, onSignals, setExitCode } from '../../base/command-process.ts'
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/config.ts'
import { print, printResult, tell } from '../../present/print.ts'
import type { MigrationReport } from '../../tools/data/migrate/formats.ts'
import type { MigrationPlan, Progress } from '../../tools/data/migrate/migrate-data.ts'
import { type CliCommand, type FolderFlags, type FormatFlag, MIGRATIONS } from '../options.ts'
import { withProgress } from '../progress.ts'

interface MigrateFlags extends FolderFlags, FormatFlag {
  readonly migrations?: string
  readonly dryRun?: true
  readonly status?: true
  readonly draft?: true
  /** With `--draft`: folders of schemas. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** False with `--no-backup`. */
  readonly backup: boolean
}

export function declareMigrate(data: CliCommand, program: string): void {
  data
    .command('migrate')
    .description('change the stored objects as the files of migrations/ say, after a backup')
    .folders()
    .option(...MIGRATIONS)
    .option('--dry-run', 'change nothing: show how many objects would change, and ten of them')
    .option('--status', 'only say which migrations ran, and which have still to run')
    .option('--draft', 'only write a first file for a change of the schemas, for you to finish')
    .option('--from <directory>', 'with --draft: the old schemas (those that the objects last fitted)')
    .option('--to <directory>', 'with --draft: the new schemas (SCHEMAS, schemas)')
    .option('--no-backup', 'make no backup first, because you have made one')
    .formats()
    .note(`First it looks at all objects: if one would not fit the schemas afterwards, it changes nothing. Then it
makes a backup in DATA_DIR/backups, and changes the objects in batches; each batch is stored as a whole, or not
at all. Ctrl-C stops it after a batch; the same command goes on. Servers of the new schemas refuse to start until it
has ended. Servers may run beside it if the objects fit their schemas before and after. Stop all others first: what
they write meanwhile doesn't fit, and only \`data check\` finds it.

Exit code: 0 when it ended, 1 when it was stopped or an object would not fit, 2 when it could not run.`)
    .examples('data migrate --draft', 'data migrate --dry-run', 'data migrate', 'data migrate --status --format json')
    .action(async ({ dryRun, status, draft, from, to, backup, format, ...flags }: MigrateFlags) => {
      const config = readConfig(environment(), flags)
      if (draft) return writeDraft(config, { from, to })
      await refuseNoFolder(config, flags.migrations ?? environment().MIGRATIONS)
      if (status) return showStatus(config, format)
      const stop = stopSignal()
      const plan = await planned(config, stop)
      if (plan.isNothingToDo) return show(format, await report(plan, 'nothing'))
      if (stop.aborted) return show(format, await report(plan, 'stopped'))
      if (plan.rehearsal.misfits > 0) return show(format, await report(plan, 'unfit'))
      if (dryRun) return show(format, await report(plan, 'rehearsed'))
      await run({ config, plan, stop, program, backup, format })
    })
}

/** Only the usual folder may be missing: another one that somebody named may be misspelt. Throws ToolError. */
async function refuseNoFolder({ migrations }: Settings, named: string | undefined): Promise<void> {
  if (!named || existsSync(migrations)) return
  const { ToolError } = await import('../../tools/load-policy.ts')
  throw new ToolError(`there is no folder \`${migrations}\`: name the folder of the migrations`)
}

async function writeDraft(
  { database, schemas, migrations }: Settings,
  { from, to = schemas }: Pick<MigrateFlags, 'from' | 'to'>,
): Promise<void> {
  const { writeDraft } = await import('../../tools/data/migrate/write-draft.ts')
  const file = await writeDraft({ database, from, to, migrations })
  if (file === undefined) print('No migration is needed: all objects that fitted the old schemas fit the new ones.\n')
  else print(`${file}\n`)
}

type Settings = Pick<Config, 'database' | 'schemas' | 'migrations'>

async function planned({ database, schemas, migrations }: Settings, stop: AbortSignal): Promise<MigrationPlan> {
  const { planMigration } = await import('../../tools/data/migrate/migrate-data.ts')
  return inProgress('checking', (progress) => planMigration({ database, schemas, migrations }, progress, stop))
}

interface Run extends FormatFlag {
  readonly config: Config
  readonly plan: MigrationPlan
  readonly stop: AbortSignal
  readonly program: string
  readonly backup: boolean
}

async function run({ config, plan, stop, program, backup, format }: Run): Promise<void> {
  const { runPlan } = await import('../../tools/data/migrate/migrate-data.ts')
  const changes = plan.pending.length > 0
  const archive = backup && changes ? await backUpFirst(config, program) : undefined
  const { database } = config
  const hidesIds = await idsHiddenBy(config, plan)
  const result = await inProgress('migrating', (progress) =>
    runPlan({ database, plan, hidesIds, now: () => new Date(), signal: stop }, progress),
  )
  const { reportText } = await import('../../tools/data/migrate/formats.ts')
  const told = await report(plan, result.kind, archive)
  printResult(format, told, reportText(told, result))
  if (result.kind !== 'ended') setExitCode(1)
}

/** Throws ToolError. */
async function backUpFirst(config: Config, program: string): Promise<string> {
  const { backUp } = await import('../../tools/backup/back-up.ts')
  const { file } = await backUp({ config, file: undefined, recipients: [], program, now: new Date() })
  tell(`Archived in ${file}.\n`)
  return file
}

/** As masks.yaml says; where the policy isn't a folder of files that fit, ids stay out of the records. */
async function idsHiddenBy({ policies }: Config, { resources }: MigrationPlan): Promise<(resource: string) => boolean> {
  const { loadPolicy } = await import('../../tools/load-policy.ts')
  const { hidesIds } = await import('../../decision-log/mask.ts')
  try {
    const { masks } = (await loadPolicy(policies, resources)).policy
    return (resource) => hidesIds(masks, resource)
  } catch {
    return () => true
  }
}

async function showStatus({ database, schemas, migrations }: Settings, format: FormatFlag['format']): Promise<void> {
  const { migrationStatus } = await import('../../tools/data/migrate/migrate-data.ts')
  const { statusText } = await import('../../tools/data/migrate/formats.ts')
  const { stored, pending, fitsSchemas, ...status } = await migrationStatus({ database, schemas, migrations })
  const shown = stored.map(({ endedAt = null, place = null, ...rest }) => ({ ...rest, endedAt, place }))
  printResult(
    format,
    { migrations: shown, pending, fitsSchemas },
    statusText({ stored, pending, fitsSchemas, ...status }),
  )
}

async function report(
  plan: MigrationPlan,
  outcome: MigrationReport['outcome'],
  backup?: string,
): Promise<MigrationReport> {
  const { reportOf } = await import('../../tools/data/migrate/formats.ts')
  return reportOf(plan, outcome, backup)
}

async function show(format: FormatFlag['format'], report: MigrationReport): Promise<void> {
  const { reportText } = await import('../../tools/data/migrate/formats.ts')
  printResult(format, report, reportText(report))
  if (report.outcome === 'unfit' || report.outcome === 'stopped') setExitCode(1)
}

function inProgress<T>(what: string, work: (progress: Progress) => Promise<T>): Promise<T> {
  return withProgress(`${what} {bar} {percentage}% {eta_formatted} left`, (bar) =>
    work({ total: (objects) => bar.start(objects, 0), done: (objects) => bar.increment(objects) }),
  )
}

/** The first Ctrl-C stops after the batch that runs; the second ends the program at once, which is safe too. */
function stopSignal(): AbortSignal {
  const abort = new AbortController()
  const stop = () => {
    if (abort.signal.aborted) process.exit(2)
    tell('\nsallyport: stopping after this batch; press Ctrl-C again to end at once\n')
    abort.abort()
  }
  onSignals(['SIGINT', 'SIGTERM'] as const, stop)
  return abort.signal
}
