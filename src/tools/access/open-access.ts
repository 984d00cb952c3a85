/** Opens what `sallyport access` reads: the schemas, the policy, the database beside its servers, and the log. */
import type { Config } from '../../config/config.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import { createRouteMatcher } from '../../resources/routing/match-route.ts'
import { readTarget } from '../../resources/routing/request-target.ts'
import { READ_BOUNDS } from '../../store/lists/read-bounds.ts'
import { openStoreBeside } from '../data/command-server.ts'
import { matchRequest } from '../explain/read-question.ts'
import { loadPolicy, type PolicyPlace, ToolError } from '../load-policy.ts'
import { lastDoneIn, recordsOfLog } from './last-done.ts'
import { type OfReport, whatCan } from './of.ts'
import { type AccessReport, type AccessReportQuestion, accessReport } from './report.ts'
import { type WhoReport, whoCan } from './who.ts'

interface AskedAccess extends Config {
  readonly place: PolicyPlace
  readonly now: number
}

interface AskedWho extends AskedAccess {
  readonly method: string
  readonly path: string
  readonly field: string | undefined
  readonly log: string | undefined
}

/** Throws FileError, ConfigError, UnfitDatabase and ToolError. */
export async function askWho({ path: written, field, now, log, place, ...asked }: AskedWho): Promise<WhoReport> {
  const method = asked.method.toUpperCase()
  if (written.includes('?')) throw new ToolError('the path has a query string: omit it, the policy decides without it')
  const resources = await loadResources(asked.schemas)
  const reviewed = await loadPolicy(place, resources)
  const target = readTarget(written)
  const match = createRouteMatcher(resources.routes)(method, target)
  const path = 'path' in target ? target.path : written
  const request = matchRequest({ method, path, match }, resources)
  if (request.kind === 'refused') throw new ToolError(`nobody can: ${request.reason}`)
  const { route, endpoint, id } = request
  const done = { resource: route.resource, action: endpoint.action, object: id }
  const lastDone = await lastDoneIn(log ?? asked.decisionLog.file, log !== undefined, done)
  const opened = await openStoreBeside(asked, resources, () => new Date(now))
  try {
    return await whoCan({ reviewed, resources, opened, request, path, field, now, lastDone })
  } finally {
    await opened.store.close()
  }
}

interface AskedOf extends AskedAccess {
  readonly named: string
  readonly objects: boolean
}

/** A report may take longer than a request: nobody waits for a server meanwhile. */
const LONG_MS = 3_600_000
const PATIENT = { ...READ_BOUNDS, hereMs: LONG_MS, listMs: LONG_MS, countMs: LONG_MS }

/** Throws FileError, ConfigError, UnfitDatabase and ToolError. */
export function askOf({ named, objects, ...asked }: AskedOf): Promise<OfReport> {
  return onData(asked, (data) => whatCan({ ...data, named, listsObjects: objects }))
}

interface AskedReport extends AskedAccess {
  readonly log: string | undefined
  readonly progress: AccessReportQuestion['progress']
}

/** Throws FileError, ConfigError, UnfitDatabase and ToolError. */
export async function askReport({ log, progress, ...asked }: AskedReport): Promise<AccessReport> {
  const records = await recordsOfLog(log ?? asked.decisionLog.file, log !== undefined)
  return onData(asked, (data) => accessReport({ ...data, records, progress }))
}

type AccessData = Omit<AccessReportQuestion, 'records' | 'progress'>

async function onData<T>({ now, place, ...asked }: AskedAccess, work: (data: AccessData) => Promise<T>): Promise<T> {
  const resources = await loadResources(asked.schemas)
  const reviewed = await loadPolicy(place, resources)
  const database = { ...asked.database, reads: PATIENT }
  const opened = await openStoreBeside({ ...asked, database }, resources, () => new Date(now))
  try {
    return await work({ reviewed, resources, opened, now })
  } finally {
    await opened.store.close()
  }
}
