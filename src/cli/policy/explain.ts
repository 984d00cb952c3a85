/** Explains what the flags of `policy explain` name: a request, a record, or the record of a request in the log. */
import { createReadStream } from 'node:fs'
import { commandProcess } from '../../base/command-process.ts'
import { FileError } from '../../base/diagnostic.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import { linesIn } from '../../base/files/lines.ts'
import type { Config } from '../../config/config.ts'
import { parseRecord } from '../../decision-log/decision-record.ts'
import { filesOfLog } from '../../decision-log/log-files.ts'
import { isSubject } from '../../identity/caller.ts'
import { quote } from '../../present/quote.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import type { Resources } from '../../resources/resource.ts'
import { createRouteMatcher } from '../../resources/routing/match-route.ts'
import { readTarget } from '../../resources/routing/request-target.ts'
import type { ObjectReader } from '../../store/object-reader.ts'
import { type Database, openReader } from '../../store/open.ts'
import { grantText, reportedGrants } from '../../tools/access/granted-roles.ts'
import { timeOf } from '../../tools/asked/at-option.ts'
import { explain } from '../../tools/explain/explain.ts'
import type { Explanation } from '../../tools/explain/explanation.ts'
import { matchRequest, readKnownRequest, withKnownObject } from '../../tools/explain/read-question.ts'
import { readStateChange, withStates } from '../../tools/explain/read-state-change.ts'
import { explainPast, explainRecord, readRecord } from '../../tools/explain/record.ts'
import type { AskingCaller } from '../../tools/explain/request.ts'
import { type LoadedPolicy, loadPolicy, type PolicyPlace, ToolError } from '../../tools/load-policy.ts'
import { policyOfRevision } from '../../tools/release/policy-of-revision.ts'
import { settingsWith } from '../options.ts'

interface ExplainFlags {
  readonly role: readonly string[]
  readonly subject?: string
  readonly object?: string
  readonly relation?: string
  readonly with?: string
  readonly address?: string
  readonly becomes?: string
  readonly record?: string
  readonly requestId?: string
  readonly at?: string
}

/** What the command line and the environment say. */
interface ExplainInput extends ExplainFlags, Pick<Config, 'schemas' | 'database' | 'dataDirectory' | 'decisionLog'> {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly place: PolicyPlace
}

interface ReviewedFiles {
  readonly reviewed: LoadedPolicy
  readonly resources: Resources
}

/** Throws FileError and ToolError. */
export async function explainFlags(
  method: string | undefined,
  path: string | undefined,
  flags: ExplainFlags,
): Promise<Explanation> {
  const asked = { ...(await settingsWith(flags)), method, path }
  if (asked.requestId !== undefined) return explainLogged(asked, asked.requestId)
  const resources = await loadResources(asked.schemas)
  const files = { resources, reviewed: await loadPolicy(asked.place, resources) }
  if (asked.record !== undefined) return explainRecorded(asked, asked.record, files)
  const { reader, close } = readerOf(asked.database)
  try {
    return await withGrantNotes(withPresentNote(await explainRequest(asked, files, reader), asked), asked)
  } finally {
    await close()
  }
}

/** Where the object is stored, its history isn't asked. */
function withPresentNote(found: Explanation, { object, at }: ExplainInput): Explanation {
  if (object === undefined || at === undefined || Date.parse(found.at) >= Date.now()) return found
  return { ...found, notes: [...found.notes, 'the objects are those of today: `access who --at` asks their histories'] }
}

/** Says which roles the subject has for a time: the question names the roles that count. */
async function withGrantNotes(found: Explanation, { place, subject, role }: ExplainInput): Promise<Explanation> {
  if (typeof place === 'string' || subject === undefined) return found
  const now = Date.parse(found.at)
  const notes = reportedGrants(await place.roleGrants(now), subject, now).map((grant) => {
    const asked = role.includes(grant.role) ? '' : `; ask with --role ${grant.role} as well`
    return `${quote(subject)} has the role ${grantText(grant)}${asked}`
  })
  return { ...found, notes: [...found.notes, ...notes] }
}

async function explainRecorded(asked: ExplainInput, file: string, files: ReviewedFiles): Promise<Explanation> {
  refuseOthers([asked.method, ...conflicting(asked)], '--record')
  const now = asked.at === undefined ? undefined : timeOf(asked.at, 0)
  const [stream, name] = file === '-' ? [commandProcess().stdin, 'standard input'] : [createReadStream(file), file]
  return explainRecord(await readRecord(linesIn(stream.setEncoding('utf8')), name), { ...files, now })
}

/** The record of a request under the policy that decided it. */
async function explainLogged(asked: ExplainInput, requestId: string): Promise<Explanation> {
  const { place, schemas, dataDirectory } = asked
  const log = asked.decisionLog.file
  refuseOthers([asked.method, asked.record, ...conflicting(asked)], '--request-id')
  const id = requestId.toLowerCase().replace(/^urn:uuid:/, '')
  if (log === undefined) {
    throw new ToolError(
      'the decision log goes to standard output (DECISION_LOG_FILE is -): give the record with --record',
    )
  }
  const record = await readRecord(linesAbout(id, log), `${log}, for the request ${quote(id)},`)
  const resources = await loadResources(schemas)
  const reviewed = await policyOfRevision(record.revision, { place, dataDirectory, resources })
  if (!reviewed) throw notKept(record.revision, place, id)
  return explainPast(record, { reviewed, present: await presentPolicy(place, resources), resources })
}

/** The sentence why it can't be read, if that is so: what an earlier version decided can be explained all the same. */
async function presentPolicy(policies: PolicyPlace, resources: Resources): Promise<LoadedPolicy | string> {
  try {
    return await loadPolicy(policies, resources)
  } catch (error) {
    if (error instanceof FileError) return error.message
    throw error
  }
}

function notKept(revision: string, policies: PolicyPlace, id: string): ToolError {
  const place = typeof policies === 'string' ? policies : policies.name
  return new ToolError(
    `${place} does not keep the policy of revision ${revision}: explain the request by the present policy with ` +
      `\`sallyport decisions query --request-id ${id} --format json | sallyport policy explain --record -\``,
  )
}

async function* linesAbout(id: string, log: string): AsyncGenerator<string> {
  for (const file of await filesOfLog(log)) {
    for await (const line of linesIn(createReadStream(file, 'utf8')))
      if (parseRecord(line)?.requestId === id) yield line
  }
}

interface LazyReader {
  readonly reader: () => Promise<ObjectReader>
  readonly close: () => Promise<void>
}

/** Only `--object` opens the database, once its flags are known to fit. */
function readerOf(database: Database): LazyReader {
  let opened: Promise<ObjectReader> | undefined
  const reader = () => {
    opened ??= openReader(database)
    return opened
  }
  const close = async () => {
    const found = await opened?.catch(() => undefined)
    await found?.close()
  }
  return { reader, close }
}

async function explainRequest(
  asked: ExplainInput,
  { reviewed, resources }: ReviewedFiles,
  reader: LazyReader['reader'],
): Promise<Explanation> {
  const { method = '', path: written, at, becomes: wanted } = asked
  if (written === undefined) {
    throw new ToolError('nothing to explain: give METHOD and PATH, as in GET /api/orders/{id}, or --record FILE')
  }
  if (written.includes('?'))
    throw new ToolError('the path has a query string: omit it; explain shows the fields for filters and sorting anyway')
  const caller = callerOf(asked)
  refuseUndeclared(asked.role, reviewed)
  // The server's own router, so that the path explained is the path that runs.
  const target = readTarget(written)
  const match = createRouteMatcher(resources.routes)(method.toUpperCase(), target)
  const path = 'path' in target ? target.path : written
  const request = matchRequest({ method: method.toUpperCase(), path, match }, resources)
  const assumed = readKnownRequest(asked, reviewed.policy)
  const now = timeOf(at, Date.now())
  const context = { request, policy: reviewed.policy, resources }
  const change = readStateChange(wanted, context)
  return withKnownObject(asked, { request, caller, reviewed, resources, reader }, (found) => {
    const { known, becomes } = withStates(found, change, context)
    return explain({ reviewed, resources, caller, path, request, known, assumed, becomes, now })
  })
}

/** A token may claim any role, but on the command line an undeclared role is a mistake. */
function refuseUndeclared(roles: readonly string[], { policy }: LoadedPolicy): void {
  const unknown = roles.find((role) => !policy.roles.has(role))
  if (unknown === undefined) return
  const declared = [...policy.roles.keys()]
  throw new ToolError(
    `roles.yaml declares no role ${quote(unknown)}: name one of ${declared.join(', ')}${didYouMean(unknown, declared)}`,
  )
}

function callerOf({ role, subject }: ExplainFlags): AskingCaller {
  if (subject !== undefined && !isSubject(subject)) {
    throw new ToolError(
      '--subject is not the id of a caller: write 1 to 128 characters without control characters and without `user:`',
    )
  }
  return role.length === 0 && subject === undefined ? { kind: 'anonymous' } : { kind: 'caller', subject, roles: role }
}

function refuseOthers(others: readonly (string | undefined)[], flag: string): void {
  if (others.every((given) => given === undefined)) return
  throw new ToolError(`the record already names the caller and the request: give ${flag} alone`)
}

/** The flags that say who asks, or about which object. */
function conflicting({ role, subject, object, relation, ...flags }: ExplainFlags): readonly (string | undefined)[] {
  return [...role, subject, object, relation, flags.with, flags.address, flags.becomes]
}
