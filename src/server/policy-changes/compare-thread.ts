/** The thread that compares the previous policy with the one that took over, so that no request waits for it. */
import '../../base/node-24.ts'
import { parentPort, workerData } from 'node:worker_threads'
import { giveWay } from '../../base/thread-priority.ts'
import { parseResources } from '../../resources/load/load-resources.ts'
import { type FromThread, type PolicyChange, summarize, type ThreadData } from './summary.ts'

/** Nobody waits for this thread, so requests get ten times its share of CPU time. */
const NICENESS = 10

giveWay(NICENESS)
const resources = parseResources((workerData as ThreadData).schemas)

parentPort?.on('message', (change: PolicyChange) => parentPort?.postMessage(compare(change)))

function compare(change: PolicyChange): FromThread {
  try {
    return { kind: 'compared', summary: summarize(change, { resources, now: Date.now() }) }
  } catch (error) {
    return { kind: 'failed', reason: (error as Error).message }
  }
}
