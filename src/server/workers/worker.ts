/**
 * A worker is a whole server without the decision log, the admin port and the metrics, which its primary has for all
 * workers.
 */
import cluster from 'node:cluster'
import { AggregatorRegistry } from 'prom-client'
import type { WorkerParts } from '../app.ts'
import { answerChecks, createWorkerLog, POLICY_END, send } from './messages.ts'

export function workerParts(): WorkerParts {
  // The constructor registers a listener that answers the primary's questions. At first the answer is empty, so that
  // nobody waits for the start.
  AggregatorRegistry.setRegistries([])
  void new AggregatorRegistry()
  return {
    policyEnd: { known: process.env[POLICY_END] === '1', report: () => send({ kind: 'policy-end' }) },
    decisionLog: createWorkerLog,
    answerChecks,
    reportPolicy: (revision) => send({ kind: 'policy', revision }),
    reportMetrics: async ({ registry }) => AggregatorRegistry.setRegistries([registry]),
  }
}

/** The worker that starts before the others creates and prints what a first start does. */
export function isFirstWorker(): boolean {
  return cluster.worker?.id === 1
}

export function reportListening(url: string, revision: string): void {
  send({ kind: 'listening', url, revision })
}
