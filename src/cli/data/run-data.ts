/** Runs the checks, exports and imports of `sallyport data`, and shows their progress on a terminal. */
import { randomUUID } from 'node:crypto'
import { FileError } from '../../base/diagnostic.ts'
import type { Config } from '../../config/config.ts'
import { printNote } from '../../present/print.ts'
import { count } from '../../present/text.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import { whileOpen } from '../../store/errors.ts'
import type { ObjectReader } from '../../store/object-reader.ts'
import type { Database } from '../../store/open.ts'
import { checkData, type DataReport, type DataToCheck } from '../../tools/data/check/check-data.ts'
import type { CommandServer } from '../../tools/data/command-server.ts'
import { exportData, exportText } from '../../tools/data/export/export-data.ts'
import { type ImportReport, importData } from '../../tools/data/import/import-data.ts'
import { resourceNamed } from '../../tools/data/routes-of.ts'
import { loadPolicy, type PolicyPlace, ToolError } from '../../tools/load-policy.ts'
import { withReader } from '../../tools/read-database.ts'
import { stopSignal, withProgress } from '../progress.ts'
import { openOutput } from './output.ts'

interface CheckSettings extends Pick<Config, 'database' | 'schemas'> {
  readonly place: PolicyPlace
  /** The resources to check; empty for all. */
  readonly only: readonly string[]
}

/** Throws FileError for faulty schemas, and ToolError. */
export async function checkDatabase(asked: CheckSettings): Promise<DataReport> {
  const resources = await loadResources(asked.schemas)
  const stored = storedResources(resources)
  const checked = asked.only.length === 0 ? stored : asked.only.map((name) => resourceNamed(name, stored))
  const policy = await policyFor(asked.place, resources)
  return withReader(asked.database, async (reader) => {
    await refuseOtherDatabase(reader, stored, asked.database)
    return withProgress('checking {bar} {percentage}% {eta_formatted} left', (bar) => {
      const progress = { total: (rows: number) => bar.start(rows, 0), checked: (rows: number) => bar.increment(rows) }
      const data = { reader, resources, checked, undeclared: asked.only.length === 0, policy, now: Date.now() }
      return checkData(data, progress)
    })
  })
}

/** Faults of the policy don't stop the check: new schemas may lack a field that the present policy names. */
async function policyFor(place: PolicyPlace, resources: Resources): Promise<DataToCheck['policy']> {
  try {
    return (await loadPolicy(place, resources)).policy
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return { unfit: `the policy does not fit the schemas (${error.message.split('\n')[0]})` }
  }
}

/** A database without any of the tables says nothing about the data. Throws ToolError. */
async function refuseOtherDatabase(
  reader: ObjectReader,
  stored: readonly Resource[],
  { name }: Database,
): Promise<void> {
  for (const resource of stored) if (await reader.hasTable(resource)) return
  throw new ToolError(
    `the database \`${name}\` has no objects of these schemas: check DATA_DIR and DATABASE_URL, or give --database`,
  )
}

interface CallerSettings extends Config {
  readonly as: string
  readonly role?: readonly string[]
}

/** Opens the stages of the server for the caller that `--as` and `--role` name. */
async function asCaller<T>(config: CallerSettings, work: (server: CommandServer) => Promise<T>): Promise<T> {
  const { openCommandServer } = await import('../../tools/data/command-server.ts')
  return whileOpen(() => openCommandServer({ config, subject: config.as, roles: config.role }), work)
}

interface ExportSettings extends CallerSettings {
  readonly resource: readonly string[]
  readonly output?: string
}

/** Whether the list of a named resource was refused. Throws ToolError and FileError, ConfigError and UnfitDatabase. */
export async function exportAs(flags: ExportSettings): Promise<boolean> {
  return asCaller(flags, async (server) => {
    const stored = storedResources(server.resources)
    const named = flags.resource.map((name) => resourceNamed(name, stored))
    await using output = await openOutput(flags.output)
    const exported = await withProgress('exported {value} objects', (bar) => {
      bar.start(0, 0)
      const progress = (objects: number) => bar.increment(objects)
      const resources = named.length > 0 ? named : stored
      return exportData(server, output, {
        resources,
        now: Date.now(),
        signal: stopSignal('stopping', 'ended at once'),
        progress,
      })
    })
    await output.finish()
    printNote(exportText(exported))
    return named.length > 0 && exported.some(({ refused }) => refused !== undefined)
  })
}

interface EraseSettings extends Config {
  readonly resource?: string
  readonly id?: string
  readonly field?: string
  readonly writer?: string
}

/** Throws ToolError, FileError, ConfigError and UnfitDatabase. */
export async function eraseHistory({ resource, id, field, writer, ...config }: EraseSettings): Promise<void> {
  const resources = await loadResources(config.schemas)
  const { openStoreBeside } = await import('../../tools/data/command-server.ts')
  const open = async () => {
    const { changes, store } = await openStoreBeside(config, resources, () => new Date())
    return { changes, close: () => store.close() }
  }
  if (writer !== undefined) {
    const own = await whileOpen(open, ({ changes }) => changes.eraseWriter(writer))
    return printNote(`erased who wrote in ${count(own, 'kept change')}\n`)
  }
  if (resource === undefined || id === undefined) {
    throw new ToolError('nothing says which past to erase: give --resource and --id, or --writer')
  }
  const { name } = resourceNamed(resource, storedResources(resources))
  const erased = await whileOpen(open, ({ changes }) => changes.erase({ resource: name, id }, field))
  const what = field === undefined ? 'everything' : `\`${field}\``
  printNote(`erased ${what} in ${count(erased, 'kept change')} of \`${id}\` in \`${name}\`\n`)
}

interface ImportSettings extends CallerSettings {
  readonly keepIds?: true
  readonly fromLine: number
  readonly incomplete?: true
  readonly again?: true
}

/** Throws ToolError before anything is written, and what `exportAs` throws. */
export async function importAs(file: string, flags: ImportSettings): Promise<ImportReport> {
  return asCaller(flags, (server) =>
    withProgress('importing {bar} {percentage}% {eta_formatted} left', (bar) =>
      importData(server, {
        file,
        keepIds: flags.keepIds ?? false,
        fromLine: flags.fromLine,
        incomplete: flags.incomplete ?? false,
        run: flags.again ? randomUUID() : '',
        now: Date.now(),
        signal: stopSignal('stopping', 'ended at once'),
        progress: { total: (rows) => bar.start(rows, 0), done: (rows) => bar.increment(rows) },
      }),
    ),
  )
}
