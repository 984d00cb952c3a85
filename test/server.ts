/** A whole server for a test: real HTTP on a free port, real SQLite and keys in a throw-away folder. */
import { cpSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { withDatabase } from '../bench/fixture/environment.ts'
import { readConfig } from '../src/config/config.ts'
import { DATABASE_POLICIES } from '../src/identity/keys/published-settings.ts'
import { createPasswords } from '../src/identity/sign-in/password.ts'
import { issueToken } from '../src/identity/tokens/issue-token.ts'
import { type App, type AppOptions, startApp } from '../src/server/app.ts'
import { createLog } from '../src/server/observe/log.ts'
import { DEMO_PASSWORD, DEMO_PASSWORD_HASH } from '../src/server/parts/demo.ts'
import type { WritePlace } from '../src/store/contract.ts'
import type { ReadBounds } from '../src/store/lists/read-bounds.ts'
import { answerChecker, type CheckedAnswer } from './answer-checker.ts'
import { removeFolder } from './ends-with-tests.ts'
import { Secrets, searchLogs } from './secrets.ts'
import { watchAnswers } from './watch-answers.ts'

export interface TestServer {
  readonly app: App
  readonly url: string
  /** A folder for this server alone; `policies` and `schemas` in it are copies of the shipped ones. */
  readonly folder: string
  /** The decision log so far, a record each; waits for the records of writes. */
  decisions(): Promise<readonly Record<string, unknown>[]>
  /** What the server noted of itself: starts, stops, policies and lost records. */
  deeds(): Promise<readonly Record<string, unknown>[]>
  /**
   * The last record with these members. They tell it from the record of an earlier write, which comes a moment later than
   * the write and so may stand behind it.
   */
  lastDecision(named: Readonly<Record<string, unknown>>): Promise<Record<string, unknown> | undefined>
  /** The log so far, a record a line. */
  readonly log: readonly Record<string, unknown>[]
  /** A token of the embedded key. */
  token(subject: string, ...roles: string[]): Promise<string>
  /** A request with a caller's token; `body` is sent as JSON. */
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>
  stop(): Promise<void>
}

interface AskOptions {
  readonly token?: string | undefined
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; undefined when there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the server answered
  readonly body: any
}

export interface TestServerOptions extends Partial<Omit<AppOptions, 'config' | 'log'>> {
  readonly env?: Record<string, string>
  readonly demo?: boolean
  readonly migrate?: boolean
  /** Where the server writes; a served one writes in a thread. */
  readonly writer?: WritePlace
  /** Bounds of lists and counts; those of a server when not given. */
  readonly reads?: ReadBounds
  /** Files that differ in a copy of the policies, `candidate`, which is POLICY_CANDIDATE. */
  readonly candidate?: Readonly<Record<string, string>>
  /** Files of the folder that replace or join the shipped ones, e.g. `policies/policy.csv`. */
  readonly files?: Readonly<Record<string, string>>
  /** Why the answers of this server are not held to its OpenAPI document. */
  readonly uncheckedBecause?: string
}

/** `limits.yaml` that never refuses: for tests of something else. */
const NO_LIMITS = 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n'

/** Half a second of computing is what a hash shall cost, and not each test that signs in. */
export const CHEAP_PASSWORDS = createPasswords({ ln: 4, r: 1, p: 1 })

const ROOT = new URL('..', import.meta.url).pathname

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const {
    env = {},
    demo = false,
    migrate = false,
    files = {},
    candidate,
    writer,
    reads,
    uncheckedBecause,
    ...rest
  } = options
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
  for (const name of ['policies', 'schemas']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  await mkdir(join(folder, 'migrations'))
  await mkdir(join(folder, 'schemas', 'commands'), { recursive: true })
  await writeFile(join(folder, 'policies/limits.yaml'), NO_LIMITS)
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  if (candidate) await writeCandidate(folder, candidate)
  const read = readConfig(
    {
      PORT: '0',
      ADMIN_PORT: '0',
      CONSOLE_PORT: 'off',
      DATA_DIR: join(folder, 'data'),
      POLICIES: join(folder, 'policies'),
      SCHEMAS: join(folder, 'schemas'),
      MIGRATIONS: join(folder, 'migrations'),
      ...(env.DATABASE_URL ? withDatabase(env.DATABASE_URL) : {}),
      ...(candidate ? { POLICY_CANDIDATE: join(folder, 'candidate') } : {}),
      ...env,
    },
    { demo, migrate },
  )
  const config = { ...read, database: { ...read.database, ...(writer && { writer }), ...(reads && { reads }) } }
  const { issuer, audience } = config.tokens
  const log: Record<string, unknown>[] = []
  const app = await startApp({
    config,
    log: createLog('debug', collect(log)),
    passwords: CHEAP_PASSWORDS,
    questions: { environment: { ...process.env, ...env }, folder },
    ...rest,
  })
  if (demo && !rest.passwords) await makeDemoCheap(app)
  const secrets = new Secrets()
  const { note, refuseFaults } = checkAnswers(
    app,
    config.policies === DATABASE_POLICIES ? join(folder, 'policies') : config.policies,
  )
  watchAnswers(app.url, (answer, credentials) => {
    for (const one of credentials) secrets.add(one)
    if (answer.path === '/api/tokens' && answer.status === 200) secrets.addMembers(JSON.parse(answer.text))
    if (uncheckedBecause === undefined) note(answer)
  })
  const records = recordsReader(app, join(folder, 'data/decisions.log'))
  const decisions = async () => (await records()).filter(({ method }) => method !== 'SERVER')
  return {
    app,
    url: app.url,
    folder,
    log,
    decisions,
    deeds: async () => (await records()).filter(({ method }) => method === 'SERVER'),
    lastDecision: async (named) => (await decisions()).findLast((record) => hasMembers(record, named)),
    token: (subject, ...roles) =>
      issueToken(signerOf(app), { subject, roles, issuer, audience, lifetimeSeconds: 3600 }),
    ask: async (method, path, asked) => {
      if (path === '/api/tokens') secrets.addMembers(asked?.body)
      const answer = await ask(app.url + path, method, asked)
      await refuseFaults()
      return answer
    },
    stop: async () => {
      await addKept(secrets, app, folder)
      await app.drain()
      await searchLogs(secrets, { folder, log })
      await removeFolder(folder)
      await refuseFaults()
    },
  }
}

/** The hash of the demo costs as much as one of a server. */
async function makeDemoCheap({ directory }: App): Promise<void> {
  const hash = await CHEAP_PASSWORDS.hash(DEMO_PASSWORD)
  for (const { id } of await directory.people()) await directory.rehash(id, DEMO_PASSWORD_HASH, hash)
}

function signerOf({ keys }: App) {
  if (!keys) throw new Error('this server signs nothing')
  return keys.signer()
}

async function writeCandidate(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await cp(join(folder, 'policies'), join(folder, 'candidate'), { recursive: true })
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'candidate', name), text)
}

/** `file`: the decision log. */
export function recordsReader(app: Pick<App, 'outbox'>, file: string): TestServer['decisions'] {
  let read = ''
  let records: readonly Record<string, unknown>[] = []
  return async () => {
    // What was noted in this turn is written at its end.
    await setImmediate()
    while ((await app.outbox.waiting(1)).length > 0) await sleep(2)
    const text = await readFile(file, 'utf8')
    // A test that asks after each request would parse the whole log each time.
    const known = text.startsWith(read) ? read.length : 0
    const lines = text.slice(known).split('\n')
    const added = lines.filter((line) => line !== '').map((line) => JSON.parse(line))
    records = [...(known > 0 ? records : []), ...added]
    read = text
    return records
  }
}

function hasMembers(record: Readonly<Record<string, unknown>>, named: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(named).every(([name, value]) => record[name] === value)
}

/** Throws for what the document doesn't allow of the answers since it was called last: to `ask`, and to other clients. */
function checkAnswers(app: App, policies: string) {
  const checked: Promise<readonly string[]>[] = []
  return {
    note: (answer: CheckedAnswer) => checked.push(faultsOf(app, policies, answer)),
    refuseFaults: async () => {
      const faults = (await Promise.all(checked.splice(0))).flat()
      if (faults.length > 0) throw new Error(`not in the OpenAPI document: ${faults.join('\n')}`)
    },
  }
}

/** What the server keeps of secrets, as far as it can be asked. */
async function addKept(secrets: Secrets, { directory }: App, folder: string): Promise<void> {
  const people = await directory.people().catch(() => [])
  for (const { account } of people) secrets.add(account?.passwordHash ?? '')
  const keys = await directory.keys().catch(() => [])
  for (const { secretHash } of keys) secrets.add(secretHash)
  const secret = await readFile(join(folder, 'data/keys/secret'), 'utf8').catch(() => '')
  secrets.add(secret.trim())
}

async function faultsOf({ resources }: App, policies: string, answer: CheckedAnswer): Promise<readonly string[]> {
  const check = await answerChecker(policies, resources, answer)
  const { method, path, status, text } = answer
  return (check?.(answer) ?? []).map((fault) => `${method} ${path} -> ${status}: ${fault}\n${text}`)
}

async function ask(url: string, method: string, { token, body, headers = {} }: AskOptions = {}): Promise<Answer> {
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) }
}

function collect(lines: Record<string, unknown>[]): Writable {
  return new Writable({
    write(chunk, _encoding, done) {
      for (const line of String(chunk).split('\n')) if (line !== '') lines.push(JSON.parse(line))
      done()
    },
  })
}
