/** The composition root: opens the parts (src/server/parts/), connects them, listens, and closes them in order. */
import type { RequestListener, Server } from 'node:http'
import Koa from 'koa'
import type { Logger } from 'pino'
import { currentTime } from '../base/time.ts'
import type { Config } from '../config/config.ts'
import { readingSchemas, refuseMissingFolders } from '../config/start/folders.ts'
import type { DecisionLog, DecisionLogEvent } from '../decision-log/decision-log.ts'
import type { TokenVerifier } from '../identity/caller.ts'
import { keyPlaceOf, refuseNoSecret } from '../identity/keys/embedded/kept-keys.ts'
import type { KeyRing } from '../identity/keys/embedded/key-ring.ts'
import type { Passwords } from '../identity/sign-in/password.ts'
import type { PolicyEvent } from '../policy/live/active-policy.ts'
import type { LivePolicy } from '../policy/live/live-policy.ts'
import { loadSchemas } from '../resources/load/load-resources.ts'
import type { Resources } from '../resources/resource.ts'
import type { OpenedStore } from '../store/contract.ts'
import { createCors } from './answers/cors.ts'
import { isConsoleBuilt, readConsoleFiles } from './console/console-files.ts'
import { createConsoleServer } from './console/console-server.ts'
import { EventHub, type HubParts } from './events/event-hub.ts'
import { createClientAddress } from './http/client-address.ts'
import { createHttpServer, runStages, type ServerTimeouts } from './http/http-server.ts'
import { after, closeServer, listen } from './http/listen.ts'
import { UnreadAnswers, type UnreadBounds } from './http/unread-answers.ts'
import { InFlight } from './idempotency/idempotency-key.ts'
import { type AdminSources, createAdminServer } from './observe/admin-server.ts'
import { checkParts } from './observe/check-parts.ts'
import { createFaultLog } from './observe/fault-log.ts'
import { createMetrics, type Metrics } from './observe/metrics.ts'
import { policyLine, streamEndLine } from './observe/server-records.ts'
import { createDescribe } from './openapi/document.ts'
import { claimForDemo, claimForProduction } from './parts/demo.ts'
import { fitData } from './parts/fit-data.ts'
import { logSharesOf, openLog, recorderOf, startCandidate } from './parts/open-decision-log.ts'
import { openIdentity, openSignIn } from './parts/open-identity.ts'
import { openLimiter } from './parts/open-limiter.ts'
import { openPolicy } from './parts/open-policy.ts'
import { expiring, findLoss, openStore } from './parts/open-store.ts'
import { openTelemetry } from './parts/open-telemetry.ts'
import { openWebhooks } from './parts/open-webhooks.ts'
import { Comparer } from './policy-changes/comparer.ts'
import { createPolicyParser } from './policy-changes/parse-apart.ts'
import { createPolicyLog, type PolicyLog } from './policy-changes/policy-log.ts'
import { refuseUnproven } from './policy-changes/refuse-unproven.ts'
import { warmInSlices } from './policy-changes/warm-in-slices.ts'
import type { PolicyQuestions } from './questions/policy-questions.ts'
import { type QuestionOptions, Questions } from './questions/questions.ts'
import { Cursors } from './routes/cursor.ts'
import { EntityTags } from './routes/entity-tag.ts'
import type { Services } from './routes/handler.ts'
import { SliceQueue } from './slices.ts'
import { useStages } from './stack.ts'
import { createRateLimiter } from './stages/limit-rate.ts'

export interface App extends Omit<OpenedStore, 'attempts' | 'migrations' | 'changes' | 'deliveries'> {
  /** Where clients reach it. */
  readonly url: string
  /** Undefined in a worker, whose metrics its primary serves. */
  readonly adminUrl: string | undefined
  /** Where people look at the policy; undefined without a console. */
  readonly consoleUrl: string | undefined
  readonly resources: Resources
  readonly policy: LivePolicy
  /** The embedded keys; undefined if this server issues no tokens. */
  readonly keys: KeyRing | undefined
  readonly decisionLog: DecisionLog
  readonly metrics: Metrics
  /** Lets requests in flight end (for at most ten seconds), refuses new ones, and closes every part. */
  drain(): Promise<void>
}

export interface WorkerParts {
  /** The shared knowledge of all workers about the end of policy.csv. */
  readonly policyEnd: { readonly known: boolean; readonly report: () => void }
  readonly decisionLog: (report: (event: DecisionLogEvent) => void) => DecisionLog
  readonly answerChecks: (checks: Services['checks']) => void
  readonly reportMetrics: (metrics: Metrics) => Promise<void>
  /** Another policy is in force. */
  readonly reportPolicy: (revision: string) => void
}

export interface AppOptions {
  readonly config: Config
  readonly log: Logger
  /** The number of log lines that could not be written. */
  readonly linesLost?: () => number
  /** Replaces the decision log that the configuration names. */
  readonly verifier?: TokenVerifier
  /** Replaces those whose hashes take as much work as OWASP advises. */
  readonly passwords?: Passwords
  readonly now?: () => Date
  readonly timeouts?: ServerTimeouts
  readonly unread?: Partial<UnreadBounds>
  /** How questions about the policy are answered (`/policy/v1/…`). */
  readonly questions?: QuestionOptions
  /** Answers them in place of the program. */
  readonly policyQuestions?: PolicyQuestions
  /** The functions of a worker that its primary provides. */
  readonly worker?: WorkerParts
}

const DRAIN_MS = 10_000

/** Throws FileError, ConfigError, DemoRefused, KeyError, or what the store and the sockets throw. */
export async function startApp(options: AppOptions): Promise<App> {
  const { config, verifier, log, now = currentTime, timeouts, worker } = options
  const closing: (() => unknown)[] = []
  const close = async () => {
    for (const part of closing.splice(0).reverse()) await part()
  }
  try {
    const metrics = createMetrics()
    const faults = createFaultLog(log)
    closing.push(() => faults.close())
    await refuseMissingFolders(config)
    const keyPlace = keyPlaceOf(config)
    if (keyPlace) refuseNoSecret(keyPlace)
    const { resources, sources: schemas } = await readingSchemas(config, () => loadSchemas(config.schemas))
    const comparer = new Comparer({ schemas })
    const policyLog = createPolicyLog(log, comparer)
    let inForceSince = Date.now()
    // Once it is open: its first record says with which policy.
    let recorded: DecisionLog | undefined
    closing.push(() => policyLog.close())
    const openedPolicy = await openPolicy({
      config,
      log,
      now,
      schemas,
      comparer,
      options: {
        resources,
        observe: (event) => {
          observePolicy(event, policyLog, metrics)
          if (event.kind !== 'activated') return
          inForceSince = Date.now()
          recorded?.noteUnawaited(policyLine({ instance: config.instance, now: now() }, event))
          worker?.reportPolicy(event.revision)
        },
        parse: createPolicyParser({ resources, schemas }),
        prove: (files, inForce) => refuseUnproven(files, resources, inForce),
        warm: warmInSlices,
        ...(worker && { end: worker.policyEnd }),
      },
    })
    closing.push(() => openedPolicy.close())
    const { policy, channel, overdue, requests } = openedPolicy
    metrics.policyActivated(policy.active.revision, Date.now())
    const isLost = () => (channel?.state(now().getTime()) ?? 'answers') !== 'answers'
    metrics.watchPolicy(() => policy.faults.length > 0 || isLost())
    if (overdue) metrics.watchProposals(() => overdue().length)
    metrics.watchLog(options.linesLost ?? (() => 0))
    const warnOfLoss = findLoss(config)
    const opened = await openStore(config, resources, policy, now)
    closing.push(() => opened.store.close())
    closing.push(expiring(opened.changes, faults))
    const telemetry = await openTelemetry(config, { log, metrics, isWorker: worker !== undefined })
    closing.push(() => telemetry?.close())
    const tracing = telemetry?.tracing
    const database = tracing?.database(opened, config.database.engine) ?? opened
    const { store, seeding, outbox, directory, attempts, migrations, transactions } = database
    await fitData(config, { store: migrations, resources, policy, now, log })
    await (config.demo ? claimForDemo(seeding, directory, resources) : claimForProduction(seeding))
    const identity = await openIdentity({ config, directory, now, log, tokens: verifier })
    closing.push(() => identity.close())
    const decisionLog = await openLog(
      config,
      { outbox, log, now, metrics, registry: metrics.registry, revision: () => policy.active.revision },
      worker?.decisionLog,
    )
    recorded = decisionLog
    closing.push(() => {
      recorded = undefined
      return decisionLog.close()
    })
    const logShares = logSharesOf(config, log)
    warnOfLoss(log)
    const shadow = await startCandidate(config, policy, log, metrics)
    closing.push(() => shadow?.close())
    const counting = await openLimiter(config, log, metrics)
    closing.push(() => counting.close())
    const limiter = config.redisUrl === undefined ? counting : (tracing?.redis(counting) ?? counting)

    const shutdown = { begun: false }
    let url = ''
    // Created here, because otherwise a GET would create them and so change the store.
    const cursors = new Cursors(await store.secret('cursor'))
    const tags = new EntityTags(await store.secret('tag'))
    const { keys } = identity
    const signIn =
      keys &&
      (await openSignIn(config, { keys, store, policy, directory, attempts, now, passwords: options.passwords }))
    const noteStore = (err: unknown) => faults.note({ err }, 'the store is not available')
    const checks = () =>
      checkParts({
        store,
        policy,
        channel,
        now,
        keys,
        limiter,
        decisionLog,
        shadow,
        draining: () => shutdown.begun,
        note: noteStore,
      })
    const questions = new Questions({ config, policy, since: () => inForceSince, schemas, ...options.questions })
    closing.push(() => questions.close())
    const unread = new UnreadAnswers(options.unread)
    const events = await openEvents(database, {
      gate: { resources, store },
      verifier: identity.verifier,
      policy,
      channel,
      now,
      ended: ({ requestId, accepted: { match }, writer }, end) => {
        const { path: route, resource } = match.route
        const about = { instance: config.instance, now: now(), revision: policy.active.revision }
        const line = streamEndLine(about, { requestId, route, resource, ...end })
        logShares.spend(writer, Buffer.byteLength(line))
        decisionLog.noteUnawaited(line)
      },
      failed: (err) => faults.note({ err }, 'events could not be told'),
    })
    closing.push(() => events?.close())
    const koa = new Koa()
    koa.on('error', (error) => faults.note({ err: error }, 'response failed'))
    useStages(koa, {
      instance: config.instance,
      resources,
      store,
      services: {
        store,
        changes: opened.changes,
        unread,
        inFlight: new InFlight(),
        now,
        signIn,
        keySet: () => keys?.keySet() ?? { keys: [] },
        checks,
        cursors,
        tags,
        requests,
        questions: options.policyQuestions ?? questions,
        describe: createDescribe(resources, channel ? 'published' : 'folder'),
        access: {
          resources,
          store,
          directory,
          verifier: identity.verifier,
          publicUrl: () => config.publicUrl ?? url,
          slices: new SliceQueue(),
        },
      },
      policy,
      channel,
      events,
      tracing,
      now,
      verifier: identity.verifier,
      verifierOn: identity.verifierOn,
      transactions,
      rateLimiter: createRateLimiter(limiter, identity.verifier),
      clientAddress: createClientAddress(config.trustProxy),
      cors: createCors(config.cors),
      logShares,
      recorder: recorderOf(config, decisionLog, logShares, shadow),
      faults,
      metrics,
      unread,
      shutdown,
    })
    const handler = runStages(koa)
    const server = createHttpServer(handler, timeouts)
    closing.push(() => closeAtOnce(server))
    url = await listen(server, config.host, { name: 'PORT', port: config.port })
    const page = await openConsole(config, { stages: handler, timeouts }, closing)
    const adminUrl = worker ? undefined : await openAdmin(config, { ...metrics, checks }, closing)
    const { deliveries, changes } = database
    const { lend } = identity
    closing.push(
      openWebhooks(config, {
        store,
        deliveries,
        changes,
        policy,
        stages: handler,
        lend,
        decisionLog,
        now,
        log,
        metrics,
      }),
    )
    decisionLog.begin()
    await worker?.reportMetrics(metrics)
    worker?.answerChecks(checks)

    const drain = async () => {
      shutdown.begun = true
      questions.drain()
      events?.close()
      const servers = page ? [server, page.server] : [server]
      await Promise.race([Promise.all(servers.map(closeServer)), after(DRAIN_MS)])
      await close()
    }
    const urls = { url, adminUrl, consoleUrl: page?.url }
    return { ...urls, resources, store, seeding, outbox, directory, policy, keys, decisionLog, metrics, drain }
  } catch (error) {
    await close()
    throw error
  }
}

/** Undefined where no resource has events: then nothing of it is in the path of a request. */
async function openEvents(
  { changes, store }: OpenedStore,
  parts: Omit<HubParts, 'changes' | 'key'>,
): Promise<EventHub | undefined> {
  if (!changes || !parts.gate.resources.routes.some((route) => route.events)) return undefined
  return new EventHub({ ...parts, changes, key: await store.secret('events') })
}

function closeAtOnce(server: Server): void {
  server.close()
  server.closeAllConnections()
}

interface ConsoleParts {
  readonly stages: RequestListener
  readonly timeouts: ServerTimeouts | undefined
}

/** The demo of a checkout whose console isn't built has none. Throws ConfigError. */
async function openConsole(
  { console: place, tokens }: Config,
  { stages, timeouts }: ConsoleParts,
  closing: (() => unknown)[],
): Promise<{ readonly server: Server; readonly url: string } | undefined> {
  if (!place || (!place.isNamed && !isConsoleBuilt())) return undefined
  const server = createConsoleServer({
    files: readConsoleFiles(),
    signIn: { password: tokens.keys.kind === 'embedded', openId: place.openId },
    stages,
    timeouts,
  })
  closing.push(() => closeAtOnce(server))
  return { server, url: await listen(server, place.host, { name: 'CONSOLE_PORT', port: place.port }) }
}

async function openAdmin(
  { admin: { host, port, token } }: Config,
  sources: AdminSources,
  closing: (() => unknown)[],
): Promise<string> {
  const admin = createAdminServer(sources, token)
  closing.push(() => admin.close())
  return listen(admin, host, { name: 'ADMIN_PORT', port })
}

function observePolicy(event: PolicyEvent, policyLog: PolicyLog, metrics: Metrics): void {
  if (event.kind === 'activated') metrics.policyActivated(event.revision, Date.now())
  if (event.kind === 'failed') metrics.policyFailed()
  policyLog.report(event)
}
