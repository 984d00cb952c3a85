/**
 * Targets in this process: a throw-away server for most cells, and one more for each cell that can't share it. Each has
 * its own folder, key and database, and the given policies without their rate limits.
 */
import { randomUUID } from 'node:crypto'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { commandProcess } from '../../../base/command-process.ts'
import { readConfig } from '../../../config/config.ts'
import { USERS } from '../../../decide/policy.ts'
import {
  comparedAttributes,
  comparedFields,
  kindOf,
  leavesOf,
  needsCaller,
  stepOf,
} from '../../../decide/relations/all-kinds.ts'
import { createApiKey, hashOfSecret } from '../../../identity/directory/api-key.ts'
import { issueToken } from '../../../identity/tokens/issue-token.ts'
import type { Document } from '../../../resources/object.ts'
import { startApp } from '../../../server/app.ts'
import { createLog } from '../../../server/observe/log.ts'
import { UNANSWERED } from '../../../server/questions/policy-questions.ts'
import type { Seeding } from '../../../store/contract.ts'
import type { Directory } from '../../../store/directory.ts'
import { UniqueTaken } from '../../../store/errors.ts'
import { isValidIn } from '../fixture/samples.ts'
import type { Folders, Suite } from '../predict/suite.ts'
import { type Expectation, type KnownColumn, knownIn } from '../read/expectation.ts'
import { follow } from './follow.ts'
import { ask } from './http.ts'
import { rulesOfRun, trialFacts } from './request-facts.ts'
import {
  CannotSetUp,
  type NewObject,
  type TargetPool,
  type TestCaller,
  type TestSignIn,
  type TestTarget,
  ValueTaken,
} from './test-target.ts'

/** The same process sends and answers, so more requests at once would only wait for each other. */
const PARALLEL = 16

export async function openTrialPool(suite: Suite, startServer: StartTrialServer): Promise<TargetPool> {
  const server = await startServer(suite.folders)
  const target = createTrialTarget(server)
  const rules = rulesOfRun(suite)
  const recordsHaveRoles = suite.resources.byName.get(USERS)?.fields.has('roles') ?? false
  /** By how far their clocks are ahead, in milliseconds. */
  const ahead = new Map<number, ReturnType<StartTrialServer>>([[0, Promise.resolve(server)]])
  const serverAhead = (by: number) =>
    ahead.getOrInsertComputed(by, () => startServer(suite.folders, () => new Date(Date.now() + by)))
  const timeOf = (expectation: Expectation) => {
    const now = Date.now()
    const facts = trialFacts(rules, expectation, now)
    return { facts, by: facts ? facts.now - now : 0 }
  }
  const lendEmpty = async (expectation: Expectation) => {
    const { facts, by } = timeOf(expectation)
    const own = await startServer(suite.folders, () => new Date(Date.now() + by))
    return {
      target: trialTarget(own, () => true, { ...facts, ahead: by, recordsHaveRoles }),
      release: () => own.stop(),
    }
  }
  return {
    url: undefined,
    parallel: PARALLEL,
    target,
    async lend(expectation) {
      if (needsOwnServer(suite, expectation)) return lendEmpty(expectation)
      const { facts, by } = timeOf(expectation)
      const shared = facts
        ? trialTarget(await serverAhead(by), ofRoles, { ...facts, ahead: by, recordsHaveRoles })
        : target
      return { target: shared, release: async () => {} }
    },
    lendEmpty,
    async close() {
      for (const one of ahead.values()) await (await one).stop()
      return []
    },
  }
}

/**
 * Cells that set up the same thing in different ways can't share a server: a record or a session of `user:alice`, or an
 * object that a relation names by its id or by a unique value.
 */
function needsOwnServer({ policy, resources }: Suite, expectation: Expectation): boolean {
  const { column, path, object } = expectation
  const route = resources.routes.find((one) => one.path === path)
  const relations = [...(policy.ownership.get(route?.resource ?? '')?.relations.values() ?? [])]
  const held = relations.filter(
    ({ name }) => object.kind === 'none' || (object.kind === 'relations' && object.names.includes(name)),
  )
  const fields = resources.byName.get(route?.resource ?? '')?.fields
  const isOnce = (name: string) => name === 'id' || fields?.get(name)?.unique
  const alone = held.filter((relation) => !needsCaller(relation) && !leavesOf(relation).some(stepOf))
  if (alone.some((relation) => comparedFields(relation).some(isOnce))) return true
  // Each cell has its own id, which most attributes can have.
  const directory = resources.byName.get(USERS)
  const isOwn = (field: string, attribute: string) =>
    field === 'id' && directory !== undefined && isValidIn(directory, attribute, randomUUID())
  const equations = held.flatMap(leavesOf).flatMap((leaf) => kindOf(leaf).equates?.(leaf) ?? [])
  if (equations.some(({ field, attribute: a }) => a !== 'id' && isOnce(field) && !isOwn(field, a))) return true
  if (column.kind !== 'user') return false
  if (route?.kind === 'caller') return true
  return held.filter(needsCaller).some((relation) => {
    return comparedFields(relation).includes('id') || comparedAttributes(relation).some((name) => name !== 'id')
  })
}

/** A server on a temporary data folder, without rate limits. */
interface TrialServer {
  readonly url: string
  readonly seeding: Pick<Seeding, 'insert' | 'replace' | 'remove'>
  /** A token that this server accepts, or an API key. */
  token(subject: string, roles: readonly string[], signIn?: TestSignIn): Promise<string>
  stop(): Promise<void>
}

/** Starts a server with these policies and schemas, and its own clock. Throws the errors of a server's start. */
export type StartTrialServer = (folders: Folders, now?: () => Date) => Promise<TrialServer>

/** For cells that share a server: several cells may use the caller `user:<id>`. */
export function createTrialTarget(server: Server): TestTarget {
  return trialTarget(server, ofRoles, { ahead: 0 })
}

/** Whether each cell has a new caller of this column. */
function ofRoles({ kind }: KnownColumn): boolean {
  return kind !== 'user'
}

/** The requests of a target. */
interface Requests extends TestSignIn {
  readonly address?: string | undefined
  /** How far the clock of the server is ahead, in milliseconds. */
  readonly ahead: number
  /** Whether the schema of users has the field `roles`. */
  readonly recordsHaveRoles?: boolean
}

type Server = Pick<TrialServer, 'url' | 'seeding' | 'token'>

function trialTarget(
  { url, seeding, token }: Server,
  isFresh: (column: KnownColumn) => boolean,
  { address, ahead, recordsHaveRoles = true, ...signIn }: Requests,
): TestTarget {
  const forwarded = address === undefined ? {} : { 'x-forwarded-for': address }
  const somebody = randomUUID()
  const caller = async (column: KnownColumn): Promise<TestCaller> => {
    const { id, roles } = knownIn(column, randomUUID())
    return { id, token: await token(id, roles, signIn), fresh: isFresh(column) }
  }
  return {
    url,
    now: () => Date.now() + ahead,
    strangers: () => [somebody],
    caller,
    async callerWithRecord(column, resource, make) {
      const made = await caller(column)
      // A key has no role that the record of its user lacks.
      const isOfKey = signIn.credential === 'api-key' && resource === USERS
      const { roles } = knownIn(column, made.id)
      if (isOfKey && roles.length > 0 && !recordsHaveRoles)
        throw new CannotSetUp('the schema `users` has no field `roles`, so an API key of a user has no role: add it')
      const object = { ...make(made.id), ...(isOfKey ? { roles } : {}) }
      await insert(seeding, { resource, object })
      return { caller: made, object, made: true }
    },
    async put(wanted) {
      await insert(seeding, wanted)
      return wanted.object
    },
    async change({ resource, object: { id } }, after) {
      await seeding.replace(resource, {
        ...stored({ resource, object: { ...after, ...(id !== undefined && { id }) } }),
        version: 1,
      })
    },
    remove: ({ resource, object }) => seeding.remove(resource, { id: String(object.id), version: 1 }),
    follow: (request) => follow({ ...request, headers: { ...request.headers, ...forwarded } }),
    ask: (request) => ask({ ...request, headers: { ...request.headers, ...forwarded } }),
    note: async () => {},
  }
}

/** Throws ValueTaken. */
async function insert(seeding: Pick<Seeding, 'insert'>, wanted: NewObject): Promise<void> {
  await seeding.insert(wanted.resource, [stored(wanted)]).catch((error) => {
    if (!(error instanceof UniqueTaken)) throw error
    throw new ValueTaken(
      `no further value was found for the unique field \`${error.field}\` of ${wanted.resource}: ` +
        'let its schema accept more values, or add `examples` with letters or digits that others may replace',
    )
  })
}

/** The server's own times apply. */
function stored({ object: { id, createdAt: _, updatedAt: __, ...document } }: NewObject): {
  id: string
  document: Document
} {
  return { id: String(id), document }
}

const TOKEN_SECONDS = 60 * 60
/** The clock of a trial server may be some weeks ahead. */
const KEY_MS = 365 * 24 * 60 * 60 * 1000

/** Ignores the environment, so that it uses no other database, Redis or key. Throws the errors of a start. */
export const startTrialServer: StartTrialServer = async ({ policies, schemas }, now) => {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-trial-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await copyPolicies(policies, join(folder, 'policies'))
    const config = readConfig({
      PORT: '0',
      ADMIN_PORT: '0',
      DATA_DIR: join(folder, 'data'),
      // What it stores is thrown away, so no commit waits for the disk.
      DATABASE_URL: 'sqlite::memory:',
      POLICIES: join(folder, 'policies'),
      SCHEMAS: schemas,
      // No such folder is there: the server begins without migrations.
      MIGRATIONS: join(folder, 'migrations'),
      LOG_LEVEL: 'silent',
      // Runs choose the address of a request with X-Forwarded-For.
      TRUST_PROXY: '127.0.0.1',
    })
    const { issuer, audience } = config.tokens
    const app = await startApp({
      config,
      log: createLog(config.logLevel, commandProcess().stderr),
      policyQuestions: UNANSWERED,
      ...(now && { now }),
    })
    const { keys } = app
    if (!keys) throw new Error('a trial server has embedded keys')
    return {
      url: app.url,
      seeding: app.seeding,
      token: (subject, roles, { credential, authTime, acr } = {}) => {
        if (credential === 'api-key') return addApiKey(app.directory, subject, roles)
        const claims = acr === undefined ? {} : { acr }
        const lifetimeSeconds = TOKEN_SECONDS
        return issueToken(keys.signer(), { subject, roles, issuer, audience, lifetimeSeconds, authTime, claims })
      },
      stop: () => app.drain().finally(remove),
    }
  } catch (error) {
    await remove()
    throw error
  }
}

async function addApiKey(directory: Directory, subject: string, roles: readonly string[]): Promise<string> {
  const { id, secret, text } = createApiKey()
  const createdAt = Date.now()
  const expiresAt = createdAt + KEY_MS
  await directory.addKey({ id, secretHash: hashOfSecret(secret), subject, roles, name: 'trial', createdAt, expiresAt })
  return text
}

/** Keeps the limits of bodies and pages, and removes the rate limits: a matrix checks who may do what. */
async function copyPolicies(from: string, to: string): Promise<void> {
  await mkdir(to)
  // The start reports what the policy lacks, and files that no policy has.
  const names = (await readdir(from)).filter((name) => !name.startsWith('.'))
  for (const name of names) await cp(join(from, name), join(to, name), { dereference: true, recursive: true })
  const limits = join(to, 'limits.yaml')
  await writeFile(limits, stringify({ ...parse(await readFile(limits, 'utf8')), limits: {} }))
}
