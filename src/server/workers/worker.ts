/**
 * A worker: a server of its own in all but the decision log, the admin port and the metrics, which its primary has for
 * all.
 */
import cluster from 'node:cluster'
import { AggregatorRegistry } from 'prom-client'
import type { WorkerParts } from '../app.ts'
import { answerChecks } from './checks.ts'
import { POLICY_END } from './messages.ts'
import { createWorkerLog, send } from './worker-log.ts'

export function workerParts(): WorkerParts {
  // Made for its effect: it answers the primary's questions from now on, at first that there is nothing, or who asks
  // would wait for the start.
  AggregatorRegistry.setRegistries([])
  void new AggregatorRegistry()
  return {
    policyEnd: { known: process.env[POLICY_END] === '1', tell: () => send({ kind: 'policy-end' }) },
    decisionLog: createWorkerLog,
    answerChecks,
    tellMetrics: async ({ registry }) => AggregatorRegistry.setRegistries([registry]),
  }
}

/** The one that is started before the others makes what a first start makes, and says so. */
export function isFirstWorker(): boolean {
  return cluster.worker?.id === 1
}

export function tellListening(url: string, revision: string): void {
  send({ kind: 'listening', url, revision })
}
