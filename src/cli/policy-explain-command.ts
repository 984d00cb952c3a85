/** sallyport policy explain */
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { Command, Option } from 'commander'
import { didYouMean } from '../base/did-you-mean.ts'
import { filesOfLog } from '../decision-log/log-files.ts'
import { parseRecord } from '../decision-log/parse-record.ts'
import { isSubject } from '../identity/subject.ts'
import { print } from '../present/print.ts'
import { quote } from '../present/quote.ts'
import { loadResources } from '../resources/load/load-resources.ts'
import type { Resources } from '../resources/resource.ts'
import { createRouteMatcher } from '../resources/routing/match-route.ts'
import { readTarget } from '../resources/routing/request-target.ts'
import type { ObjectReader } from '../store/contract.ts'
import { type Database, loadReader } from '../store/open.ts'
import { AT, timeOf } from '../tools/at.ts'
import { explain } from '../tools/explain/explain.ts'
import type { Explanation } from '../tools/explain/explanation.ts'
import { matchRequest } from '../tools/explain/match-request.ts'
import type { AskingCaller } from '../tools/explain/question.ts'
import { readKnownObject } from '../tools/explain/read-object.ts'
import { type DecisionRecord, readRecord } from '../tools/explain/read-record.ts'
import { explainRecord } from '../tools/explain/record/explain-record.ts'
import { toText } from '../tools/explain/text.ts'
import { loadPolicy, ReviewError, type ReviewedPolicy } from '../tools/load-policy.ts'
import { policyOfRevision } from '../tools/release/policy-of-revision.ts'
import type { ReviewFolders } from './policy-command.ts'

interface Flags {
  readonly policies?: string
  readonly schemas?: string
  readonly role: readonly string[]
  readonly subject?: string
  readonly object?: string
  readonly relation?: string
  readonly record?: string
  readonly requestId?: string
  readonly at?: string
  readonly exitCode?: boolean
  readonly format: keyof typeof FORMATS
}

interface Files {
  readonly reviewed: ReviewedPolicy
  readonly resources: Resources
}

const FORMATS = {
  text: toText,
  json: (explanation: Explanation) => `${JSON.stringify(explanation, null, 2)}\n`,
} as const

const EXAMPLES = `
Without --role and --subject the caller has no credentials. A path with {id} stands for any object.

Examples:
  sallyport policy explain --role member GET /api/orders/{id}
  sallyport policy explain --role member DELETE /api/orders/{id} --relation owner+draft
  sallyport policy explain --role support --subject sam PATCH /api/orders/{id} --object 0190b2c4-…
  sallyport policy explain --record - < decision.json`

/** Of a server; reading it can throw ConfigError. */
interface Server {
  /** The SQLite file that --object reads. */
  readonly database: () => Database
  /** Where --request-id finds the record (undefined: standard output) and the versions of the policy. */
  readonly past: () => { readonly log: string | undefined; readonly dataDirectory: string }
}

export function policyExplainCommand(folders: ReviewFolders, { database, past }: Server): Command {
  return new Command('explain')
    .description('is this request allowed, by which lines, and what is missing if not')
    .argument('[method]', 'GET, POST, …')
    .argument('[path]', 'as a client asks for it, or as a schema writes it: /api/orders/{id}')
    .option('--policies <directory>', 'policy files (POLICIES, policies)')
    .option('--schemas <directory>', 'schema files (SCHEMAS, schemas)')
    .option('--role <name>', 'a role that the caller has; repeat for more', repeated, [])
    .option('--subject <id>', 'who the caller is')
    .option('--object <id>', 'the stored object that it is about; read from the database, which is not changed')
    .option('--relation <names>', 'exactly these relations hold: owner+draft, or none')
    .option('--record <file>', "explain a decision record of the server's log; - reads from standard input")
    .option('--request-id <id>', 'explain the record of this request, in the log of the server, by the policy of then')
    .option('--exit-code', 'exit with 0 when it is allowed, 1 when it is refused or depends on the object')
    .option(AT[0], `${AT[1]}, but for a record the time when it was made`)
    .addOption(new Option('--format <format>', 'how to print it').choices(Object.keys(FORMATS)).default('text'))
    .addHelpText('after', EXAMPLES)
    .action(async (method: string | undefined, path: string | undefined, flags: Flags) => {
      const directories = { ...folders(), ...flags }
      const explanation =
        flags.requestId === undefined
          ? await explainAsked({ method, path, flags }, await readFiles(directories), database)
          : await explainPast(flags.requestId, { ...directories, ...past() }, [
              method,
              flags.record,
              ...conflicting(flags),
            ])
      print(FORMATS[flags.format](explanation))
      if (flags.exitCode && (explanation.answer?.status ?? 400) >= 400) process.exitCode = 1
    })
}

interface Question {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly flags: Flags
}

async function explainAsked(
  { method, path, flags }: Question,
  files: Files,
  database: () => Database,
): Promise<Explanation> {
  if (flags.record === undefined) {
    return explainRequest(requested(method, path), flags, files, await readerOf(flags, database))
  }
  const now = flags.at === undefined ? undefined : timeOf(flags.at, 0)
  return explainRecord(await recordIn(flags.record, [method, ...conflicting(flags)]), { ...files, now })
}

interface Past extends ReturnType<ReviewFolders> {
  readonly log: string | undefined
  readonly dataDirectory: string
}

/** The record of a request under the policy that decided it. */
async function explainPast(
  asked: string,
  { log, policies, schemas, dataDirectory }: Past,
  others: readonly (string | undefined)[],
): Promise<Explanation> {
  refuseOthers(others, '--request-id')
  const id = asked.toLowerCase().replace(/^urn:uuid:/, '')
  if (log === undefined) {
    throw new ReviewError('the decision log goes to standard output (DECISION_LOG_FILE is -); explain with --record')
  }
  const record = await readRecord(linesAbout(id, log), `${log}, for the request ${quote(id)},`)
  const resources = await loadResources(schemas)
  const reviewed = await policyOfRevision(record.revision, { directory: policies, dataDirectory, resources })
  return explainRecord(record, { reviewed, resources, now: undefined })
}

async function* linesAbout(id: string, log: string): AsyncGenerator<string> {
  for (const file of await filesOfLog(log)) {
    for await (const line of linesOf(createReadStream(file))) if (parseRecord(line)?.requestId === id) yield line
  }
}

function repeated(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}

async function readFiles({ policies, schemas }: ReturnType<ReviewFolders>): Promise<Files> {
  const resources = await loadResources(schemas)
  return { resources, reviewed: await loadPolicy(policies, resources) }
}

interface Requested {
  readonly method: string
  readonly path: string
}

/** Opens the database for `--object` alone, which also is why its engine is loaded here. */
async function readerOf({ object }: Flags, database: () => Database): Promise<() => ObjectReader> {
  if (object === undefined) return () => fail('no object was asked for')
  return loadReader(database())
}

function fail(message: string): never {
  throw new Error(message)
}

function requested(method: string | undefined, path: string | undefined): Requested {
  if (method !== undefined && path !== undefined) return { method: method.toUpperCase(), path }
  throw new ReviewError('say what to explain: METHOD and PATH, as in GET /api/orders/{id}, or --record FILE')
}

function explainRequest(
  { method, path: written }: Requested,
  flags: Flags,
  { reviewed, resources }: Files,
  openReader: () => ObjectReader,
): Explanation {
  if (written.includes('?'))
    throw new ReviewError('omit the query string: explain names the fields that a list may be filtered and sorted by')
  const caller = callerOf(flags)
  refuseUndeclared(flags.role, reviewed)
  // The server's own router, so that the path explained is the path that runs.
  const target = readTarget(written)
  const match = createRouteMatcher(resources.routes)(method, target)
  const path = 'path' in target ? target.path : written
  const request = matchRequest({ method, path, match }, resources)
  const known = readKnownObject(flags, { request, caller, reviewed, resources, openReader })
  return explain({ reviewed, resources, caller, path, request, known, now: timeOf(flags.at, Date.now()) })
}

/** A token may claim any role; who asks here means one that grants something. */
function refuseUndeclared(roles: readonly string[], { policy }: ReviewedPolicy): void {
  const unknown = roles.find((role) => !policy.roles.has(role))
  if (unknown === undefined) return
  const declared = [...policy.roles.keys()]
  throw new ReviewError(
    `roles.yaml declares no role ${quote(unknown)}; it declares ${declared.join(', ')}${didYouMean(unknown, declared)}`,
  )
}

function callerOf({ role, subject }: Flags): AskingCaller {
  if (subject !== undefined && !isSubject(subject)) {
    throw new ReviewError(
      '--subject is the id of a caller: 1 to 128 characters, none of them a control character, without user: before it',
    )
  }
  return role.length === 0 && subject === undefined ? { kind: 'anonymous' } : { kind: 'caller', subject, roles: role }
}

async function recordIn(file: string, others: readonly (string | undefined)[]): Promise<DecisionRecord> {
  refuseOthers(others, '--record')
  const [stream, name] = file === '-' ? [process.stdin, 'standard input'] : [createReadStream(file), file]
  return readRecord(linesOf(stream), name)
}

function refuseOthers(others: readonly (string | undefined)[], flag: string): void {
  if (others.every((given) => given === undefined)) return
  throw new ReviewError(`a record says what was asked and who asked it: leave everything but ${flag} away`)
}

/** What says who asks, or about what. */
function conflicting({ role, subject, object, relation }: Flags): readonly (string | undefined)[] {
  return [...role, subject, object, relation]
}

async function* linesOf(stream: Readable): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const [first = '', ...others] = String(chunk).split('\n')
    const lines = [rest + first, ...others]
    rest = lines.pop() ?? ''
    yield* lines
  }
  yield rest
}
