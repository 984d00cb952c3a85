/** Opens the store that the configuration names, with indexes for what the policy's relations compare. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import { databaseFault, openDataFolder } from '../../config/start/start-faults.ts'
import { comparedFields, leavesOf, needsCaller, stepOf } from '../../decide/relations/all-kinds.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { Resources } from '../../resources/resource.ts'
import type { ObjectChanges } from '../../store/changes.ts'
import type { OpenedStore, Outbox } from '../../store/contract.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import { databaseExists, openDatabase, openDatabaseBeside } from '../../store/open.ts'
import type { FaultLog } from '../observe/fault-log.ts'

/** Throws ConfigError, or UnfitDatabase. */
export async function openStore(
  config: Config,
  resources: Resources,
  policy: LivePolicy,
  now: () => Date,
): Promise<OpenedStore> {
  const { dataDirectory, database } = config
  await openDataFolder(dataDirectory)
  try {
    return await openDatabase(database, { resources, now, indexFields: fieldsForLists(resources, policy) })
  } catch (error) {
    throw error instanceof StoreUnavailable ? await databaseFault(database, error) : error
  }
}

/**
 * A first start creates a database, then keys, then a log: if only the database is missing, it was lost, or removed on
 * purpose. Must be called before the store is opened; call the returned function to warn, once the decision log is
 * known to be one.
 */
export function findLoss({ database, dataDirectory, decisionLog }: Config): (log: Pick<Logger, 'warn'>) => void {
  // Keys alone prove nothing: commands can create them before the first start.
  const trace = decisionLog.file ?? join(dataDirectory, 'keys')
  const isThere = sizeOf(trace) > 0
  if (databaseExists(database) || !isThere) return () => {}
  const fault = `the database ${database.name} is missing, but ${trace} is of an earlier start`
  const message = `${fault}: the server starts without data; if data was lost, stop it and restore the database`
  return (log) => log.warn({ database: database.name, trace }, message)
}

/** Zero also for a file that can't be looked at: whoever opens it says why. */
function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}

/**
 * The fields that lists use to find objects: relations compare them with the caller, or follow them to other objects.
 */
function fieldsForLists({ byName }: Resources, { active }: LivePolicy): ReadonlyMap<string, readonly string[]> {
  const fields = new Map([...byName.keys()].map((name) => [name, new Set<string>()]))
  const leaves = [...byName.keys()].flatMap((name) => {
    const relations = active.snapshot.ownershipOf(name)?.relations.values() ?? []
    return [...relations].flatMap(leavesOf).map((leaf) => ({ name, leaf, step: stepOf(leaf) }))
  })
  for (const { name, leaf, step } of leaves) {
    if (step) fields.get(step.resource)?.add(step.by)
    if (step || needsCaller(leaf)) for (const field of comparedFields(leaf)) fields.get(name)?.add(field)
  }
  return new Map([...fields].map(([name, found]) => [name, [...found]]))
}

const EXPIRE_MS = 60_000

/** Deletes changes that have been kept for their time, now and then. Ends with the returned function. */
export function expiring(changes: ObjectChanges, faults: Pick<FaultLog, 'note'>): () => Promise<void> {
  let expired: Promise<void> | undefined
  const expire = async () => {
    await changes.expire().catch((err: unknown) => faults.note({ err }, 'old changes could not be deleted'))
    expired = undefined
  }
  const timer = setInterval(() => {
    expired ??= expire()
  }, EXPIRE_MS).unref()
  return async () => {
    clearInterval(timer)
    await expired
  }
}

/** The database must exist. Throws StoreUnavailable or UnfitDatabase. */
export async function openOutbox({
  database,
}: Config): Promise<{ readonly outbox: Outbox; readonly close: () => Promise<void> }> {
  const resources = { byName: new Map(), routes: [] }
  const { store, outbox } = await openDatabaseBeside(database, { resources, now: () => new Date() })
  return { outbox, close: () => store.close() }
}
