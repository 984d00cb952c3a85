/** Environment and flags -> one frozen configuration. A bad value stops the start with a sentence that names it. */
import { hostname } from 'node:os'
import type { Environment } from '../base/command-process.ts'
import { againWith, shellWord } from '../base/problems/fix.ts'
import type { SendPlace } from '../decision-log/send/record-receiver.ts'
import type { WitnessPlace } from '../decision-log/tree/witness.ts'
import { type KeySettings, readKeySettings } from '../identity/keys/key-settings.ts'
import { type PublishedSettings, readPublishedSettings } from '../identity/keys/published-settings.ts'
import { type OpenIdSettings, readOpenIdSettings } from '../identity/tokens/openid-settings.ts'
import { redisUrlFault } from '../limits/redis-url.ts'
import { shownSettings } from '../present/without-secrets.ts'
import { type Database, databaseIn, EXAMPLE_URL, readDatabaseUrl } from '../store/open.ts'
import { type ConsolePlace, readConsolePlace } from './console-place.ts'
import { readSendPlace } from './send-place.ts'
import { readTelemetry, type TelemetrySettings } from './telemetry.ts'
import { ConfigError, cidr, host, list, oneOf, origins, port, publicUrl, quote, size, wholeNumber } from './values.ts'
import { readWebhookPlaces, type WebhookPlaces } from './webhook-places.ts'
import { readWitnessPlace } from './witness-place.ts'

export interface Config {
  readonly host: string
  readonly port: number
  /** The name of this instance in decision records. Its workers share it. */
  readonly instance: string
  /** Where other services reach it: an origin; undefined for where it listens. */
  readonly publicUrl: string | undefined
  /** Where Prometheus scrapes. Without a token, whoever reaches it may read. */
  readonly admin: { readonly host: string; readonly port: number; readonly token: string | undefined }
  /** Where the console is; undefined without one. */
  readonly console: ConsolePlace | undefined
  readonly demo: boolean
  readonly dataDirectory: string
  /** What DATABASE_URL names, with DATABASE_POOL and DATABASE_POOLER. */
  readonly database: Database
  /** A directory, or DATABASE_POLICIES. */
  readonly policies: string
  readonly published: PublishedSettings
  readonly schemas: string
  /** The folder of migrations, which needn't exist. */
  readonly migrations: string
  /** Whether pending migrations run before the server listens. */
  readonly migrate: boolean
  readonly redisUrl: string | undefined
  /** How many instances share a limit while Redis is lost. */
  readonly limitInstances: number
  /** Processes that serve. */
  readonly workers: number
  /** CIDRs of proxies whose X-Forwarded-For counts. */
  readonly trustProxy: readonly string[]
  /** Which pages of browsers may use this server; no origins for none. */
  readonly cors: { readonly origins: readonly string[]; readonly maxAgeSeconds: number }
  readonly tokens: {
    readonly keys: KeySettings
    readonly issuer: string
    readonly audience: string
    /** Undefined for the default of the kind of key. */
    readonly algorithms: readonly string[] | undefined
  }
  /** Whose tokens are taken beside those of `tokens`. */
  readonly openId: OpenIdSettings | undefined
  readonly logLevel: string
  readonly decisionLog: {
    /** Undefined for standard output. */
    readonly file: string | undefined
    /** Whether no read or refusal is answered unless its record is written. */
    readonly required: boolean
    /** When a file has so many bytes, the next one begins. */
    readonly maxBytes: number
    /** How many full files are kept. */
    readonly keep: number
    /** What gets a copy of each record. */
    readonly send: SendPlace | undefined
    /** What signs that the log goes on from what it was. */
    readonly witness: WitnessPlace | undefined
  }
  /** A policy to decide by beside the one in force, without ruling anything. */
  readonly policyCandidate: string | undefined
  /** Undefined where no traces or metrics are sent. */
  readonly telemetry: TelemetrySettings | undefined
  readonly webhooks: WebhookPlaces
  /** What was set, by variables and options, without secrets: for the record of a start. */
  readonly settings: Readonly<Record<string, string>>
}

/** Flags win over the environment. */
export interface Flags {
  readonly demo?: boolean
  readonly port?: string
  readonly workers?: string
  readonly policies?: string
  readonly schemas?: string
  readonly migrations?: string
  readonly migrate?: boolean
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/** Throws ConfigError, and KeyError for OIDC_*, POLICY_* and the keys of tokens. */
export function readConfig(environment: Environment, flags: Flags = {}): Config {
  const env = (name: string) => environment[name] || undefined
  const ownIssuer = env('JWT_ISSUER') ?? 'sallyport'
  const dataDirectory = env('DATA_DIR') ?? 'data'
  const ownPort = port(flags.port === undefined ? 'PORT' : '--port', flags.port ?? env('PORT') ?? '3000')
  const adminPort = port('ADMIN_PORT', env('ADMIN_PORT') ?? '9090')
  const openId = readOpenIdSettings(environment, ownIssuer)
  return Object.freeze({
    host: host('HOST', env('HOST') ?? '127.0.0.1'),
    port: ownPort,
    instance: instance(env('INSTANCE'), ownPort),
    publicUrl: publicUrl(env('PUBLIC_URL')),
    admin: Object.freeze({
      host: host('ADMIN_HOST', env('ADMIN_HOST') ?? '127.0.0.1'),
      port: adminPort,
      token: adminToken(env('ADMIN_TOKEN')),
    }),
    console: readConsolePlace(env, { demo: flags.demo ?? false, ownPort, adminPort, openId }),
    demo: flags.demo ?? false,
    dataDirectory,
    database: database(env, dataDirectory),
    ...folders(env, flags),
    published: readPublishedSettings(environment),
    migrate: flags.migrate ?? false,
    redisUrl: redisUrl(env('REDIS_URL')),
    workers: workers(flags.workers, env('WORKERS')),
    limitInstances: wholeNumber('LIMIT_INSTANCES', env('LIMIT_INSTANCES') ?? '1', { min: 1, max: 10_000 }),
    trustProxy: list(env('TRUST_PROXY')).map(cidr),
    cors: Object.freeze({
      origins: origins(list(env('CORS_ORIGINS'))),
      maxAgeSeconds: wholeNumber('CORS_MAX_AGE', env('CORS_MAX_AGE') ?? '600', { min: 0, max: 86_400 }),
    }),
    tokens: Object.freeze({
      keys: readKeySettings(env),
      issuer: ownIssuer,
      audience: env('JWT_AUDIENCE') ?? 'sallyport',
      algorithms: env('JWT_ALGORITHMS') === undefined ? undefined : list(env('JWT_ALGORITHMS')),
    }),
    openId,
    decisionLog: decisionLog(env, dataDirectory, readSendPlace(environment)),
    policyCandidate: env('POLICY_CANDIDATE'),
    telemetry: readTelemetry(env),
    webhooks: readWebhookPlaces(env),
    logLevel: oneOf('LOG_LEVEL', env('LOG_LEVEL') ?? 'info', LOG_LEVELS),
    settings: Object.freeze({ ...shownSettings(environment), ...shownFlags(flags) }),
  })
}

function shownFlags(flags: Flags): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(flags).map(([name, value]) => [`--${name}`, String(value)]))
}

function folders(
  env: (name: string) => string | undefined,
  { policies, schemas, migrations }: Flags,
): Pick<Config, 'policies' | 'schemas' | 'migrations'> {
  return {
    policies: policies ?? env('POLICIES') ?? 'policies',
    schemas: schemas ?? env('SCHEMAS') ?? 'schemas',
    migrations: migrations ?? env('MIGRATIONS') ?? 'migrations',
  }
}

function workers(flag: string | undefined, variable = '1'): number {
  return wholeNumber(flag === undefined ? 'WORKERS' : '--workers', flag ?? variable, { min: 1, max: 256 })
}

/** Two instances on one machine have two ports. */
function instance(value: string | undefined, ownPort: number): string {
  if (value === undefined) {
    const machine = hostname()
      .replace(/[^A-Za-z0-9.-]/g, '-')
      .slice(0, 50)
    return `${machine}:${ownPort === 0 ? process.pid : ownPort}`
  }
  if (/^[A-Za-z0-9._:-]{1,64}$/.test(value)) return value
  throw new ConfigError(`INSTANCE is ${quote(value)}; set it to 1 to 64 characters of A-Z a-z 0-9 . _ : -`)
}

/** Nothing slows guessing down on the admin port, so a token must be long. The message doesn't repeat it. */
function adminToken(value: string | undefined): string | undefined {
  if (value === undefined || /^[A-Za-z0-9._~+/-]{16,}=*$/.test(value)) return value
  throw new ConfigError(
    "ADMIN_TOKEN can't be sent as a bearer token; set it to at least 16 characters of A-Z a-z 0-9 . _ ~ + / -",
  )
}

/** Fewer connections can't do reads, writes and lists at the same time. */
const LEAST_CONNECTIONS = 4

function database(env: (name: string) => string | undefined, dataDirectory: string): Database {
  const url = env('DATABASE_URL')
  const found = url === undefined ? databaseIn(dataDirectory) : readDatabaseUrl(url)
  // The value may hold a password, so it isn't repeated.
  if ('fault' in found) {
    const { fault, completed } = found
    const right = completed === undefined ? EXAMPLE_URL : shellWord(completed)
    throw new ConfigError(`DATABASE_URL ${fault}`, againWith('DATABASE_URL', right))
  }
  const most = wholeNumber('DATABASE_POOL', env('DATABASE_POOL') ?? '10', { min: LEAST_CONNECTIONS, max: 1000 })
  const pooler = oneOf('DATABASE_POOLER', env('DATABASE_POOLER') ?? 'none', ['none', 'transaction'] as const)
  return Object.freeze({ ...found, connections: { most, pooler } })
}

function decisionLog(
  env: (name: string) => string | undefined,
  dataDirectory: string,
  send: SendPlace | undefined,
): Config['decisionLog'] {
  return Object.freeze({
    file: decisionLogFile(env('DECISION_LOG_FILE'), dataDirectory),
    required: oneOf('DECISION_LOG', env('DECISION_LOG') ?? 'best-effort', ['required', 'best-effort']) === 'required',
    maxBytes: size('DECISION_LOG_MAX', env('DECISION_LOG_MAX') ?? '100mb'),
    keep: wholeNumber('DECISION_LOG_KEEP', env('DECISION_LOG_KEEP') ?? '10', { min: 0, max: 1000 }),
    send,
    witness: readWitnessPlace(env),
  })
}

function decisionLogFile(value: string | undefined, dataDirectory: string): string | undefined {
  return value === '-' ? undefined : (value ?? `${dataDirectory}/decisions.log`)
}

function redisUrl(url: string | undefined): string | undefined {
  const fault = url === undefined ? undefined : redisUrlFault(url)
  if (fault !== undefined) throw new ConfigError(fault)
  return url
}
