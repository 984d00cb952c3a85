/** The composition root: the only file that knows every folder. Opens the parts, listens, and closes them in order. */
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import type { Logger } from 'pino'
import { createPolicyTeller, type PolicyTeller, policyDetail } from './activation/policy-teller.ts'
import { type Config, ConfigError } from './config.ts'
import { type DecisionLog, openDecisionLog } from './decision-log/decision-log.ts'
import { LogFile, type LogFileOptions } from './decision-log/log-file.ts'
import { bestEffortRecorder, observedRecorder, type Recorder, requiredRecorder } from './decision-log/recorder.ts'
import { standardOutput } from './decision-log/standard-output.ts'
import { claimForDemo, claimForProduction } from './demo/seed-demo.ts'
import type { TokenVerifier } from './identity/caller.ts'
import { createLimiter } from './limits/create-limiter.ts'
import type { Limiter } from './limits/limiter.ts'
import { createDescribe } from './openapi/describe.ts'
import { LivePolicy, type PolicyEvent } from './policy/live-policy.ts'
import { watchPolicy } from './policy/watch-policy.ts'
import { createClientAddress } from './request/client-address.ts'
import { createCors } from './request/cors.ts'
import { createHttpServer, type ServerTimeouts } from './request/http-server.ts'
import { createRateLimiter } from './request/limit-rate.ts'
import { createRouteMatcher } from './request/match-route.ts'
import { createMetrics, type Metrics } from './request/metrics.ts'
import { createPipeline } from './request/pipeline.ts'
import { loadResources } from './resources/load-resources.ts'
import { readSchemas } from './resources/read-schemas.ts'
import type { Resources } from './resources/resource.ts'
import { InFlight } from './routes/in-flight.ts'
import type { Check } from './routes/services.ts'
import { type Shadow, startShadow } from './shadow/shadow.ts'
import { createTeller } from './shadow/tell.ts'
import { type Outbox, type Seeding, type Store, StoreUnavailable } from './store/contract.ts'
import { openSqlite } from './store/sqlite.ts'

export interface App {
  /** Where clients reach it. */
  readonly url: string
  readonly adminUrl: string
  readonly resources: Resources
  readonly store: Store
  readonly seeding: Seeding
  readonly outbox: Outbox
  readonly policy: LivePolicy
  readonly decisionLog: DecisionLog
  /** Lets requests in flight end (for at most ten seconds), refuses new ones, and closes every part. */
  drain(): Promise<void>
}

export interface AppOptions {
  readonly config: Config
  readonly verifier: TokenVerifier
  readonly log: Logger
  readonly now?: () => Date
  readonly timeouts?: ServerTimeouts
}

const DRAIN_MS = 10_000

/** Throws FileError, ConfigError, DemoRefused, or what the store and the sockets throw. */
export async function startApp({ config, verifier, log, now = () => new Date(), timeouts }: AppOptions): Promise<App> {
  const closing: (() => unknown)[] = []
  const close = async () => {
    for (const part of closing.splice(0).reverse()) await part()
  }
  try {
    const metrics = createMetrics()
    const resources = await loadResources(config.schemas)
    const teller = createPolicyTeller(log, { schemas: (await readSchemas(config.schemas)).sources })
    closing.push(() => teller.close())
    const policy = await LivePolicy.open(config.policies, resources, (event) => observePolicy(event, teller, metrics))
    metrics.policyActivated(policy.active.revision)
    metrics.watchPolicy(() => policy.faults.length > 0)
    closing.push(await watchPolicy(policy))
    const { store, seeding, outbox } = await openStore(config, resources, policy, now)
    closing.push(() => store.close())
    await (config.demo ? claimForDemo(seeding, resources) : claimForProduction(seeding))
    const decisionLog = await openLog(config, outbox, log, metrics)
    closing.push(() => decisionLog.close())
    const shadow = startCandidate(config, log, metrics)
    closing.push(() => shadow?.close())
    const limiter = await openLimiter(config, log, metrics)
    closing.push(() => limiter.close())

    let draining = false
    // Made here, because a GET that made them would change the store.
    const cursorKey = await store.secret('cursor')
    const tagKey = await store.secret('tag')
    const checks = () => checkParts({ store, policy, limiter, decisionLog, shadow, draining: () => draining })
    const koa = new Koa()
    koa.on('error', (error) => log.error({ err: error }, 'response failed'))
    koa.use(
      createPipeline({
        gate: { resources, store, now: () => now().getTime() },
        store,
        services: {
          store,
          inFlight: new InFlight(),
          now,
          checks,
          cursorKey,
          tagKey,
          describe: createDescribe(resources),
        },
        policy,
        verifier,
        rateLimiter: createRateLimiter(limiter),
        matchRoute: createRouteMatcher(resources.routes),
        clientAddress: createClientAddress(config.trustProxy),
        cors: createCors(config.cors),
        recorder: recorderOf(config, decisionLog, shadow),
        log,
        metrics,
        draining: () => draining,
      }),
    )
    const server = createHttpServer(koa.callback(), timeouts)
    closing.push(() => {
      server.close()
      server.closeAllConnections()
    })
    const url = await listen(server, config.host, { name: 'PORT', port: config.port })
    const admin = createAdminServer(metrics)
    closing.push(() => admin.close())
    const adminUrl = await listen(admin, config.host, { name: 'ADMIN_PORT', port: config.adminPort })

    const drain = async () => {
      draining = true
      await Promise.race([closeServer(server), after(DRAIN_MS)])
      await close()
    }
    return { url, adminUrl, resources, store, seeding, outbox, policy, decisionLog, drain }
  } catch (error) {
    await close()
    throw error
  }
}

function observePolicy(event: PolicyEvent, teller: PolicyTeller, metrics: Metrics): void {
  if (event.kind === 'activated') metrics.policyActivated(event.revision)
  if (event.kind === 'failed') metrics.policyFailed()
  teller.tell(event)
}

async function openStore(
  config: Config,
  resources: Resources,
  policy: LivePolicy,
  now: () => Date,
): ReturnType<typeof openSqlite> {
  const { dataDirectory, databaseFile } = config
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 })
  try {
    return await openSqlite({ file: databaseFile, resources, now, indexFields: comparedFields(resources, policy) })
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    const why = error.cause instanceof Error ? error.cause.message : String(error.cause)
    throw new ConfigError(`the database ${databaseFile} can't be opened (${why}); see DATA_DIR and DATABASE_URL`)
  }
}

/** The fields that relations compare with the caller: lists look objects up by them. */
function comparedFields({ byName }: Resources, { active }: LivePolicy): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...byName.keys()].map((name) => [
      name,
      [...(active.snapshot.ownershipOf(name)?.relations.values() ?? [])]
        .filter(({ kind }) => kind === 'caller')
        .map(({ field }) => field),
    ]),
  )
}

function openLog(
  { decisionLog: { file, maxBytes, keep } }: Config,
  outbox: Outbox,
  log: Logger,
  metrics: Metrics,
): Promise<DecisionLog> {
  const sink = file === undefined ? standardOutput : openLogFile({ file, maxBytes, keep })
  return openDecisionLog({ sink, outbox }, (event) => {
    if (event.kind === 'lost') metrics.decisionLost()
    if (event.kind === 'failing') log.error({ err: event.error }, 'the decision log can not be written')
    if (event.kind === 'working') log.warn({ lost: event.lost }, 'the decision log is written again')
  })
}

/** The policy that POLICY_CANDIDATE names, decided by beside the one in force. */
function startCandidate({ policyCandidate, schemas }: Config, log: Logger, metrics: Metrics): Shadow | undefined {
  if (policyCandidate === undefined) return undefined
  return startShadow({ directory: policyCandidate, schemas }, createTeller(log, metrics.registry))
}

function recorderOf(config: Config, decisionLog: DecisionLog, shadow: Shadow | undefined): Recorder {
  const recorder = (config.decisionLog.required ? requiredRecorder : bestEffortRecorder)(decisionLog)
  return shadow ? observedRecorder(recorder, (record) => shadow.observe(record)) : recorder
}

function openLogFile(options: LogFileOptions): LogFile {
  try {
    return new LogFile(options)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(`the decision log ${options.file} can't be written (${code}); see DECISION_LOG_FILE`)
  }
}

function openLimiter({ redisUrl, limitInstances }: Config, log: Logger, metrics: Metrics): Promise<Limiter> {
  metrics.limiterState('ok')
  return createLimiter({
    ...(redisUrl === undefined ? {} : { redisUrl }),
    instances: limitInstances,
    observe: (event) => {
      metrics.limiterState(event.kind === 'lost' ? 'degraded' : 'ok')
      if (event.kind === 'lost') log.error({ err: event.cause }, 'redis lost: rate limits are counted in this process')
      else log.info('redis regained: rate limits are shared again')
    },
  })
}

interface Checked {
  readonly store: Store
  readonly policy: LivePolicy
  readonly limiter: Limiter
  readonly decisionLog: DecisionLog
  readonly shadow: Shadow | undefined
  readonly draining: () => boolean
}

async function checkParts({
  store,
  policy,
  limiter,
  decisionLog,
  shadow,
  draining,
}: Checked): Promise<Record<string, Check>> {
  const answers = await store.ping().then(
    () => true,
    () => false,
  )
  return {
    server: draining() ? { status: 'unavailable', detail: 'shutting down' } : { status: 'ok' },
    store: answers ? { status: 'ok' } : { status: 'unavailable' },
    policy: policy.faults.length > 0 ? { status: 'degraded', detail: policyDetail(policy) } : { status: 'ok' },
    ...(shadow ? { candidate: shadow.state() } : {}),
    decisions: decisionLog.failing
      ? { status: 'degraded', detail: 'records can not be written; those of writes wait in the store' }
      : { status: 'ok' },
    limiter:
      limiter.state() === 'ok' ? { status: 'ok' } : { status: 'degraded', detail: 'redis is lost; limits are local' },
  }
}

function createAdminServer(metrics: Metrics): Server {
  return createServer(async (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    const text = await metrics.text()
    response.writeHead(200, { 'Content-Type': metrics.contentType }).end(text)
  })
}

async function listen(
  server: Server,
  host: string,
  { name, port }: { readonly name: string; readonly port: number },
): Promise<string> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new ConfigError(`${name} ${port} of ${host} can't be listened on (${(error as NodeJS.ErrnoException).code})`)
  }
  const { address, port: bound, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
}

function after(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref()
  })
}
