/**
 * The thread of the candidate policy: loads and watches the candidate, and compares decisions, without delaying the
 * server.
 */
import '../../base/node-24.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { compare } from '../../analysis/replay/compare.ts'
import { decideAgain, type ReplayPolicy } from '../../analysis/replay/decide-again.ts'
import type { PolicyEvent } from '../../policy/live/active-policy.ts'
import { LivePolicy } from '../../policy/live/live-policy.ts'
import { watchPolicy } from '../../policy/live/watch-policy.ts'
import { policyFolderSource } from '../../policy/policy-source.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import { refuseUnproven } from '../policy-changes/refuse-unproven.ts'
import type { CandidatePlace, FromCandidate, RecordedDifference, ToCandidate } from './messages.ts'

const RETRY_MS = 500

const { directory, schemas } = workerData as CandidatePlace
const resources = await loadResources(schemas)
const source = policyFolderSource(directory)
let replayPolicy: ReplayPolicy | undefined
let queue = Promise.resolve()

parentPort?.on('message', (records: ToCandidate) => {
  // One message at a time, so that differences are reported in the order of the requests.
  queue = queue.then(async () => send(await compareAll(records)))
})

const policy = await openCandidate()
replayPolicy = { resources, policyAt: (time) => policy.at(time) }
send({ kind: 'ready', revision: policy.active.revision })
await watchPolicy(policy, directory)

/** A candidate may be broken, or not there yet: the server doesn't wait for it. */
async function openCandidate(): Promise<LivePolicy> {
  for (let sent = ''; ; await sleep(RETRY_MS)) {
    try {
      return await LivePolicy.open({
        source,
        resources,
        observe: sendEvent,
        // No version in force is replaced by a candidate.
        prove: (files) => refuseUnproven(files, resources, undefined),
      })
    } catch (error) {
      const { message } = error as Error
      if (message !== sent) send({ kind: 'refused', message })
      sent = message
    }
  }
}

function sendEvent(event: PolicyEvent): void {
  if (event.kind === 'activated') send({ kind: 'ready', revision: event.revision })
  if (event.kind !== 'failed') return
  send({ kind: 'refused', message: event.error instanceof Error ? event.error.message : String(event.error) })
}

async function compareAll(records: ToCandidate): Promise<FromCandidate> {
  const counts = { compared: 0, undecidable: 0, unready: 0, faults: 0 }
  const differences: RecordedDifference[] = []
  for (const record of records) {
    const result = replayPolicy ? await compareOne(replayPolicy, record) : 'unready'
    if (typeof result === 'string') counts[result] += 1
    else {
      counts.compared += 1
      differences.push(result)
    }
  }
  return { kind: 'compared', records: records.length, ...counts, differences }
}

async function compareOne(
  on: ReplayPolicy,
  record: ToCandidate[number],
): Promise<RecordedDifference | 'compared' | 'undecidable' | 'faults'> {
  try {
    const again = await decideAgain(on, record)
    if (again.kind === 'undecidable') return 'undecidable'
    const difference = again.kind === 'unconcerned' ? undefined : compare(record, again)
    return difference ? { difference, record } : 'compared'
  } catch {
    return 'faults'
  }
}

function send(message: FromCandidate): void {
  parentPort?.postMessage(message)
}
