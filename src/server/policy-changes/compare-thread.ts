/** The thread that compares a policy with the one before it, and judges what was approved, so that no request waits for it. */
import '../../base/node-24.ts'
import { parentPort, workerData } from 'node:worker_threads'
import { FileError } from '../../base/diagnostic.ts'
import { giveWay } from '../../base/thread-priority.ts'
import { parseResources } from '../../resources/load/load-resources.ts'
import { type FromThread, judgeSources, summarize, type ThreadData, type ToCompareThread } from './summary.ts'

/** Nobody waits for this thread, so requests get ten times its share of CPU time. */
const NICENESS = 10

giveWay(NICENESS)
const resources = parseResources((workerData as ThreadData).schemas)

parentPort?.on('message', (asked: ToCompareThread) => parentPort?.postMessage(answer(asked)))

function answer(asked: ToCompareThread): FromThread {
  try {
    return asked.kind === 'judge'
      ? { kind: 'judged', judged: judgeSources(asked.change, resources) }
      : { kind: 'compared', summary: summarize(asked.change, { resources, now: Date.now() }) }
  } catch (error) {
    if (error instanceof FileError) return { kind: 'faulty', diagnostics: error.diagnostics, more: error.more }
    return { kind: 'failed', reason: (error as Error).message }
  }
}
