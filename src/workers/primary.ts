/**
 * The process that starts the workers of a server and keeps them going. It answers no request: it shares the port out, writes the
 * decision log for all, ships what writes leave in the store, and tells the metrics of all.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { Logger } from 'pino'
import { AggregatorRegistry } from 'prom-client'
import type { Config } from '../config.ts'
import type { DecisionLog } from '../decision-log/decision-log.ts'
import { createAdminServer, listen } from '../parts/listen.ts'
import { openLog, tellLog } from '../parts/open-decision-log.ts'
import { openOutbox } from '../parts/open-outbox.ts'
import type { FromPrimary, ToPrimary } from './messages.ts'

/** So many workers in a row that ended before they listened: the next one would too. */
const MOST_FAILED_STARTS = 5

/** Milliseconds after which a worker that ended is started again. */
const RESTART_MS = 200

/** Ends the process: with 2 when the workers can't start, with 0 when it was told to stop. */
export async function servePrimary(config: Config, log: Logger): Promise<void> {
  const primary = new Primary(config, log)
  process.once('SIGTERM', () => void primary.stop())
  process.once('SIGINT', () => void primary.stop())
  process.on('SIGHUP', () => void primary.reopen())
  await primary.start()
}

class Primary {
  readonly #config: Config
  readonly #log: Logger
  readonly #decisionLog = Promise.withResolvers<DecisionLog>()
  readonly #closing: (() => unknown)[] = []
  #hasListened = false
  /** In a row. */
  #failedStarts = 0
  #stopping = false

  constructor(config: Config, log: Logger) {
    this.#config = config
    this.#log = log
  }

  async start(): Promise<void> {
    const { workers, redisUrl, host, adminPort } = this.#config
    if (redisUrl === undefined) {
      this.#log.warn(
        { workers },
        `without REDIS_URL each of ${workers} workers allows its part of a rate limit, rounded down`,
      )
    }
    cluster.on('message', (worker, message: ToPrimary) => void this.#hear(worker, message))
    // The first one makes what a first start makes: tables, keys, demo data, the first user.
    const first = await this.#fork()
    const { outbox, close } = await openOutbox(this.#config)
    const decisionLog = await openLog(this.#config, outbox, tellLog(this.#log))
    this.#closing.push(close, () => decisionLog.close())
    this.#decisionLog.resolve(decisionLog)
    await Promise.all(Array.from({ length: workers - 1 }, () => this.#fork()))
    const metrics = new AggregatorRegistry()
    const admin = createAdminServer({ text: () => metrics.clusterMetrics(), contentType: metrics.contentType })
    this.#closing.push(() => admin.close())
    const adminUrl = await listen(admin, host, { name: 'ADMIN_PORT', port: adminPort })
    this.#log.info({ ...first, admin: adminUrl, workers }, 'listening')
  }

  async reopen(): Promise<void> {
    try {
      const decisionLog = await this.#decisionLog.promise
      decisionLog.reopen()
      this.#log.info('decision log reopened')
    } catch (error) {
      this.#log.error({ err: error }, 'the decision log can not be reopened; the one before is written to')
    }
  }

  /** Each worker lets its requests end; then what they left is written. */
  async stop(): Promise<never> {
    this.#stopping = true
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
    for (const worker of workers) worker.process.kill('SIGTERM')
    await Promise.all(workers.map((worker) => worker.isDead() || once(worker, 'exit')))
    for (const close of this.#closing.reverse()) await close()
    process.exit(0)
  }

  /** Resolves once the worker listens. */
  async #fork(): Promise<{ readonly url: string; readonly revision: string }> {
    const worker = cluster.fork()
    worker.once('exit', (code) => this.#ended(code))
    const listening = Promise.withResolvers<{ url: string; revision: string }>()
    worker.on('message', (message: ToPrimary) => {
      if (message.kind !== 'listening') return
      this.#hasListened = true
      this.#failedStarts = 0
      listening.resolve({ url: message.url, revision: message.revision })
    })
    return listening.promise
  }

  /** A worker that never listened has said why. */
  #ended(code: number | null): void {
    if (this.#stopping) return
    this.#failedStarts += 1
    if (!this.#hasListened || this.#failedStarts > MOST_FAILED_STARTS) {
      this.#stopping = true
      for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM')
      process.exit(2)
    }
    this.#log.error({ code }, 'a worker ended; another one is started')
    setTimeout(() => {
      if (!this.#stopping) void this.#fork()
    }, RESTART_MS)
  }

  async #hear(worker: Worker, message: ToPrimary): Promise<void> {
    if (message.kind === 'listening') return
    const decisionLog = await this.#decisionLog.promise
    if (message.kind === 'committed') {
      decisionLog.committed()
      return
    }
    const { id } = message
    const answer = await decisionLog.noteLines(message.lines).then(
      (): FromPrimary => ({ kind: 'appended', id }),
      (error): FromPrimary => ({ kind: 'appended', id, error: String(error) }),
    )
    if (worker.isConnected()) worker.send(answer)
  }
}
