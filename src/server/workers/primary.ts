/**
 * The process that starts the workers of a server and restarts those that end. It answers no request: it shares its
 * port with the workers, writes the decision log for all, moves the records of the outbox into it, and reports all
 * metrics.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { Logger } from 'pino'
import { AggregatorRegistry, Registry } from 'prom-client'
import type { Config } from '../../config/config.ts'
import type { DecisionLog } from '../../decision-log/decision-log.ts'
import { listen } from '../http/listen.ts'
import { createAdminServer } from '../observe/admin-server.ts'
import { openLog } from '../parts/open-decision-log.ts'
import { openOutbox } from '../parts/open-store.ts'
import { checkWorkers, type FromPrimary, POLICY_END, type ToPrimary } from './messages.ts'

type AppendMessage = Extract<ToPrimary, { kind: 'append' }>
type Listening = Extract<ToPrimary, { kind: 'listening' }>

/** The server stops when more workers than this, in a row, ended before they listened, and no worker listens. */
const MOST_FAILED_STARTS = 5

/**
 * Milliseconds before an ended worker is started again; twice as long after each worker that ended before it listened.
 */
const RESTART_MS = 200
const LONGEST_RESTART_MS = 30_000

/** Longer than a worker takes to drain and to close its parts. */
const KILL_MS = 15_000

/**
 * The process exits with 2 when the workers can't start, and with 0 when it was told to stop. Throws what `start`
 * throws, after all workers have ended.
 */
export async function servePrimary(config: Config, log: Logger): Promise<void> {
  const primary = new Primary(config, log)
  // A terminal's Ctrl-C comes twice, by itself and by npm.
  process.on('SIGTERM', () => void primary.stop())
  process.on('SIGINT', () => void primary.stop())
  process.on('SIGHUP', () => void primary.reopen())
  try {
    await primary.start()
  } catch (error) {
    await primary.close(error)
    throw error
  }
}

class Primary {
  readonly #config: Config
  readonly #log: Logger
  readonly #decisionLog = Promise.withResolvers<DecisionLog>()
  readonly #closing: (() => unknown)[] = []
  readonly #listening = new Set<Worker>()
  #hasListened = false
  /** A worker has read a policy.csv with its last line. */
  #policyEnd = false
  /** Of the policy that a worker took last. */
  #revision: string | undefined
  /** Workers in a row that ended before they listened. */
  #failedStarts = 0
  #stopping = false

  constructor(config: Config, log: Logger) {
    this.#config = config
    this.#log = log
    this.#decisionLog.promise.catch(nothing)
  }

  async start(): Promise<void> {
    const { workers, redisUrl, admin: settings } = this.#config
    cluster.on('message', (worker, message: ToPrimary) => this.#hear(worker, message))
    // The first one makes what a first start makes: tables, keys, demo data, the first user.
    const { url, revision } = await this.#keep()
    this.#revision ??= revision
    const { outbox, close } = await openOutbox(this.#config)
    this.#closing.push(close)
    const registry = new Registry()
    const decisionLog = await openLog(this.#config, {
      outbox,
      log: this.#log,
      now: () => new Date(),
      registry,
      revision: () => this.#revision ?? revision,
    })
    this.#closing.push(() => decisionLog.close())
    this.#decisionLog.resolve(decisionLog)
    await Promise.all(Array.from({ length: workers - 1 }, () => this.#keep()))
    const metrics = new AggregatorRegistry()
    const text = async () => `${await metrics.clusterMetrics()}${await registry.metrics()}`
    const checks = together(() => checkWorkers(this.#listening, workers))
    const admin = createAdminServer({ text, contentType: metrics.contentType, checks }, settings.token)
    this.#closing.push(() => admin.close())
    const adminUrl = await listen(admin, settings.host, { name: 'ADMIN_PORT', port: settings.port })
    decisionLog.begin()
    // Not before: a start that fails says only why.
    if (redisUrl === undefined) {
      this.#log.warn(
        { workers },
        `without REDIS_URL each of ${workers} workers allows its part of a rate limit; set it to count limits exactly`,
      )
    }
    this.#log.info({ url, revision, admin: adminUrl, workers }, 'listening')
  }

  async reopen(): Promise<void> {
    try {
      const decisionLog = await this.#decisionLog.promise
      decisionLog.reopen()
      this.#log.info('decision log reopened')
    } catch (error) {
      this.#log.error({ err: error }, 'the decision log can not be reopened; still using the previous file')
    }
  }

  async stop(): Promise<void> {
    if (this.#stopping) return
    await this.close(new Error('the server stops'))
    process.exit(0)
  }

  /**
   * Waits until the workers have ended their requests, then writes the remaining records. `reason`: the error of
   * records that wait for a log that was never opened.
   */
  async close(reason: unknown): Promise<void> {
    this.#stopping = true
    this.#decisionLog.reject(reason)
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
    const ends = workers.map((worker) => worker.isDead() || once(worker.process, 'exit'))
    for (const worker of workers) worker.process.kill('SIGTERM')
    const impatience = setTimeout(() => {
      this.#log.error('workers that did not drain are killed')
      for (const worker of workers) worker.process.kill('SIGKILL')
    }, KILL_MS)
    await Promise.all(ends)
    clearTimeout(impatience)
    for (const part of this.#closing.reverse()) await part()
  }

  /** Resolves once there is a worker that listens, whether or not it's the one that was started first. */
  #keep(place = Promise.withResolvers<Listening>()): Promise<Listening> {
    const worker = cluster.fork(this.#policyEnd ? { [POLICY_END]: '1' } : {})
    worker.on('message', (message: ToPrimary) => {
      if (message.kind !== 'listening') return
      this.#hasListened = true
      this.#failedStarts = 0
      this.#listening.add(worker)
      place.resolve(message)
    })
    const letGo = holdConnection(worker)
    worker.once('exit', (code, signal) => {
      letGo()
      this.#listening.delete(worker)
      this.#ended({ code, signal }, () => void this.#keep(place))
    })
    // A message to a worker that is ending can fail; the listener of `exit` does the rest.
    worker.on('error', nothing)
    return place.promise
  }

  /** A worker that never listened has logged why. Workers that listen continue, even if another one can't start. */
  #ended(how: { readonly code: number | null; readonly signal: string | null }, startAgain: () => void): void {
    if (this.#stopping) return
    const delay = Math.min(LONGEST_RESTART_MS, RESTART_MS * 2 ** this.#failedStarts)
    this.#failedStarts += 1
    if (!this.#hasListened || (this.#failedStarts > MOST_FAILED_STARTS && this.#listening.size === 0)) {
      void this.close(new Error('no worker starts')).then(() => process.exit(2))
      return
    }
    this.#log.error({ ...how, startsAgainInMs: delay }, 'a worker ended; another one is started')
    setTimeout(() => {
      if (!this.#stopping) startAgain()
    }, delay)
  }

  /** prom-client uses the same channel, so unknown messages are ignored. */
  #hear(worker: Worker, message: ToPrimary): void {
    if (message.kind === 'policy-end') this.#policyEnd = true
    if (message.kind === 'policy') this.#revision = message.revision
    if (message.kind === 'append') void this.#append(worker, message)
    if (message.kind === 'committed') void this.#decisionLog.promise.then((log) => log.committed(), nothing)
  }

  async #append(worker: Worker, { id, lines }: AppendMessage): Promise<void> {
    const answer = await this.#decisionLog.promise
      .then((log) => log.noteLines(lines))
      .then(
        (): FromPrimary => ({ kind: 'appended', id }),
        (error): FromPrimary => ({ kind: 'appended', id, error: String(error) }),
      )
    if (worker.isConnected()) worker.send(answer)
  }
}

/**
 * Node's primary keeps a connection open until a worker confirms that it got it. A worker that is killed before never
 * confirms, and the client would wait for ever. At most one connection waits like this for each worker; closing a
 * connection that was passed on does nothing.
 */
function holdConnection({ process: child }: Worker): () => void {
  const send = child.send.bind(child) as (...sent: readonly unknown[]) => boolean
  let handed: { close?: () => void } | undefined
  child.send = (...sent: readonly unknown[]) => {
    handed = (sent[1] as typeof handed) ?? handed
    return send(...sent)
  }
  return () => handed?.close?.()
}

/** Calls at the same time share one answer. */
function together<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | undefined
  return () => {
    asking ??= ask().finally(() => {
      asking = undefined
    })
    return asking
  }
}

function nothing(): void {}
