/** Opens what `sallyport access` reads: the schemas, the policy, the database beside its servers, and the log. */
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { linesIn } from '../../base/files/lines.ts'
import { readMoment } from '../../base/time.ts'
import type { Config } from '../../config/config.ts'
import { type DecisionRecord, fitsFilter, parseRecord } from '../../decision-log/decision-record.ts'
import { filesOfLog } from '../../decision-log/log-files.ts'
import type { PersonSigner } from '../../policy/published/signed-by-person.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import type { Resources } from '../../resources/resource.ts'
import { createRouteMatcher } from '../../resources/routing/match-route.ts'
import { readTarget } from '../../resources/routing/request-target.ts'
import { READ_BOUNDS } from '../../store/lists/read-bounds.ts'
import { openStoreBeside } from '../data/command-server.ts'
import { readSide } from '../diff/revision.ts'
import { matchRequest } from '../explain/read-question.ts'
import { type LoadedPolicy, loadPolicy, type PolicyPlace, ToolError } from '../load-policy.ts'
import { policyOfHistory, policyOfRevision } from '../release/policy-of-revision.ts'
import { type AccessComparison, accessBetween } from './compare.ts'
import { type AccessOpened, withGrantedRoles } from './granted-roles.ts'
import type { AccessProgress } from './objects-in-memory.ts'
import { type OfReport, whatCan } from './of.ts'
import { PastObjects } from './past-objects.ts'
import { type AccessReport, type AccessReportQuestion, accessReport } from './report.ts'
import { type AskedReview, refuseReviewer, signReview, verifyReview } from './review.ts'
import { type WhoReport, whoCan } from './who.ts'

interface AskedAccess extends Config {
  readonly place: PolicyPlace
  readonly now: number
  /** As it was given, if it was. */
  readonly at?: string | undefined
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
  if (route.parent && path !== route.path) throw underParent(route.parent.resource, `${method} ${route.path}`)
  const done = { resource: route.resource, action: endpoint.action, object: id }
  const lastDone = await lastDoneIn(log ?? asked.decisionLog.file, log !== undefined, done)
  return inOpened({ ...asked, place, now }, resources, (opened) =>
    whoCan({ reviewed, resources, opened, request, path, field, now, lastDone }),
  )
}

/** Whoever may not read the parent gets 404, and the answer here would name such people. */
function underParent(parent: string, request: string): ToolError {
  return new ToolError(
    `this asks two things: ask who can read this object of \`${parent}\`, and who can \`${request}\`, as the schema writes it`,
  )
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
  readonly progress: AccessProgress
}

/** Throws FileError, ConfigError, UnfitDatabase and ToolError. */
export async function askReport({ log, progress, ...asked }: AskedReport): Promise<AccessReport> {
  const records = await recordsOfLog(log ?? asked.decisionLog.file, log !== undefined)
  return onData(asked, (data) => accessReport({ ...data, records, progress }))
}

interface AskedAccessReview extends AskedAccess, AskedReview {
  readonly signer: PersonSigner
  readonly progress: AccessProgress
}

/** Throws FileError, ConfigError, UnfitDatabase, KeyError and ToolError. */
export async function askReview({ signer, progress, digest, confirm, revoke, reason, ...asked }: AskedAccessReview) {
  return onData(asked, async (data) => {
    const approvals = refuseReviewer(data.reviewed.policy.approvals, signer)
    const report = await accessReport({ ...data, records: undefined, progress })
    const policyFile = { name: 'policy.csv', text: data.reviewed.files['policy.csv'].text }
    return signReview({ report, signer, approvals, policyFile, now: data.now }, { digest, confirm, revoke, reason })
  })
}

/** Throws FileError, ConfigError, KeyError, ToolError, and errors of the system. */
export async function readReview(file: string, { place, schemas }: Pick<AskedAccess, 'place' | 'schemas'>) {
  const { policy } = await loadPolicy(place, await loadResources(schemas))
  return verifyReview(await readFile(file, 'utf8'), policy.approvals)
}

interface AskedCompare extends AskedAccess {
  /** The policy files in force. */
  readonly policies: string
  readonly placeOf: (named: string) => PolicyPlace
  readonly from: string
  /** Undefined for the policy in force. */
  readonly to: string | undefined
  readonly progress: AccessProgress
}

/** Throws FileError, ConfigError, UnfitDatabase and ToolError. */
export async function askCompare({ from, to, progress, ...asked }: AskedCompare): Promise<AccessComparison> {
  return onData(asked, async ({ reviewed, ...data }) => {
    const version = (named: string) => versionNamed(named, asked, data.resources)
    const sides = { from: await version(from), to: to === undefined ? reviewed : await version(to) }
    return accessBetween({ ...data, ...sides, progress })
  })
}

/** A number or a revision of the history, a time, or what `policy diff` takes. */
async function versionNamed(
  named: string,
  { place, placeOf, policies, dataDirectory }: Pick<AskedCompare, 'place' | 'placeOf' | 'policies' | 'dataDirectory'>,
  resources: Resources,
): Promise<LoadedPolicy> {
  const search = { place, dataDirectory, resources }
  const at = readMoment(named, Date.now())
  const number = /^\d{1,9}$/.test(named) ? Number(named) : undefined
  if (number === undefined && at === undefined) {
    const kept = /^[0-9a-f]{16}$/.test(named) ? await policyOfRevision(named, search) : undefined
    return kept ?? readSide(placeOf(named), policies, resources)
  }
  const found = await policyOfHistory(number === undefined ? { at: at ?? 0 } : { number }, search)
  if (found) return found
  const which = number === undefined ? `in force at ${named}` : `with the number ${named}`
  throw new ToolError(
    `the history has no version ${which}: \`sallyport policy history\` lists them; or name a directory or a git revision`,
  )
}

type AccessData = Omit<AccessReportQuestion, 'records' | 'progress'>

async function onData<T>({ now, place, ...asked }: AskedAccess, work: (data: AccessData) => Promise<T>): Promise<T> {
  const resources = await loadResources(asked.schemas)
  const reviewed = await loadPolicy(place, resources)
  const database = { ...asked.database, reads: PATIENT }
  return inOpened({ ...asked, database, place, now }, resources, (opened) => work({ reviewed, resources, opened, now }))
}

async function inOpened<T>(
  { place, now, at, ...asked }: AskedAccess,
  resources: Resources,
  work: (opened: AccessOpened) => Promise<T>,
): Promise<T> {
  const grants = typeof place === 'string' ? new Map() : await place.roleGrants(now)
  const { store, directory, changes } = await openStoreBeside(asked, resources, () => new Date(now))
  const today = Date.now()
  const isPast = at !== undefined && now < today
  const past = isPast ? new PastObjects({ store, changes, resources, time: now, today }) : undefined
  try {
    return await work({ store, changes, past, grants, directory: withGrantedRoles(directory, grants, now) })
  } finally {
    await store.close()
  }
}

// ---- The decision log: when each caller was last allowed an action.

interface DoneAction {
  readonly resource: string
  readonly action: string
  /** Undefined for an action that concerns no object. */
  readonly object: string | undefined
}

/** By the subject, and by `key <id>`. Undefined if there is no log and none was named. Throws ToolError. */
async function lastDoneIn(
  log: string | undefined,
  isNamed: boolean,
  done: DoneAction,
): Promise<ReadonlyMap<string, string> | undefined> {
  const records = await recordsOfLog(log, isNamed)
  if (!records) return undefined
  const last = new Map<string, string>()
  for await (const record of records()) noteRecord(last, record, done)
  return last
}

/** Undefined if there is no log and none was named. Throws ToolError. */
async function recordsOfLog(
  log: string | undefined,
  isNamed: boolean,
): Promise<(() => AsyncGenerator<DecisionRecord>) | undefined> {
  const files = log === undefined ? [] : await filesOfLog(log)
  if (files.length === 0 && isNamed)
    throw new ToolError(`there is no decision log ${log}: name another file with --log`)
  if (files.length === 0) return undefined
  return () => recordsIn(files)
}

async function* recordsIn(files: readonly string[]): AsyncGenerator<DecisionRecord> {
  for (const file of files) {
    for await (const line of linesIn(createReadStream(file, 'utf8'))) {
      const record = parseRecord(line)
      if (record) yield record
    }
  }
}

function noteRecord(last: Map<string, string>, record: DecisionRecord, { resource, action, object }: DoneAction): void {
  const filter = { resource: [resource], action: [action], outcome: ['allowed'] }
  if (record.objectId !== object || !fitsFilter(record, filter)) return
  for (const name of [record.subject, record.credential]) {
    if (name !== undefined && record.time > (last.get(name) ?? '')) last.set(name, record.time)
  }
}
