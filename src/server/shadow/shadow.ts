/**
 * The candidate policy beside the one in force (POLICY_CANDIDATE): every answered request is decided again under it, in
 * a separate thread, and differences are reported. It has no effect on answers, and no answer waits for it.
 */
import { Worker } from 'node:worker_threads'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import type { CandidatePlace, FromCandidate } from './messages.ts'

// .ts in a checkout, .js in the package.
const CANDIDATE_THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './candidate-thread.ts' : './candidate-thread.js',
  import.meta.url,
)

/** The most records that wait for a slow candidate; further ones are dropped and counted. */
const MOST_WAITING = 10_000

export type ShadowEvent =
  | FromCandidate
  | { readonly kind: 'dropped' }
  /** The thread ended by itself; it isn't started again. */
  | { readonly kind: 'stopped'; readonly cause: unknown }

export interface Shadow {
  /** Returns at once. */
  observe(record: DecisionRecord): void
  /** The state of the candidate, for readiness. */
  state(): { readonly status: 'ok' | 'degraded'; readonly detail: string }
  close(): Promise<void>
}

/** `program` is what the thread runs. */
export function startShadow(
  place: CandidatePlace,
  report: (event: ShadowEvent) => void,
  program: URL = CANDIDATE_THREAD,
): Shadow {
  const thread = new Worker(program, { workerData: place })
  let state: ReturnType<Shadow['state']> = { status: 'ok', detail: 'the candidate is being loaded' }
  let waiting = 0
  let batch: DecisionRecord[] = []
  let stopped = false

  thread.on('message', (message: FromCandidate) => {
    if (message.kind === 'ready') state = { status: 'ok', detail: `candidate ${message.revision}` }
    if (message.kind === 'refused') state = { status: 'degraded', detail: "the candidate's files are refused" }
    if (message.kind === 'compared') waiting -= message.records
    report(message)
  })
  thread.on('error', stop)
  thread.on('exit', (code) => stop(new Error(`the thread exited with ${code}`)))
  thread.unref()

  function stop(cause: unknown): void {
    if (stopped) return
    stopped = true
    state = { status: 'degraded', detail: 'the candidate is no longer compared' }
    report({ kind: 'stopped', cause })
  }

  function send(): void {
    if (!stopped) thread.postMessage(batch)
    batch = []
  }

  return {
    observe(record) {
      if (stopped || waiting >= MOST_WAITING) {
        report({ kind: 'dropped' })
        return
      }
      waiting += 1
      if (batch.length === 0) setImmediate(send)
      batch.push(record)
    },
    state: () => state,
    async close() {
      stopped = true
      await thread.terminate()
    },
  }
}
