/**
 * What a worker and its primary send each other: readiness, which the primary's admin port asks of each worker, and
 * the lines of the decision log, which the primary alone writes to the file and ships from the store.
 */

import type { Worker } from 'node:cluster'
import { type DecisionLog, type DecisionLogEvent, Lines } from '../../decision-log/decision-log.ts'
import type { Health } from '../routes/handler.ts'

/** The variable that tells a starting worker that policy.csv was read with its last line. */
export const POLICY_END = 'SALLYPORT_POLICY_END'

export type ToPrimary =
  | { readonly kind: 'listening'; readonly url: string; readonly revision: string }
  /** Lines for the decision log; answered by `appended`. */
  | { readonly kind: 'append'; readonly id: number; readonly lines: string }
  /** policy.csv has its last line: a worker that starts later must not take a file without it. */
  | { readonly kind: 'policy-end' }
  /** Another policy is in force in the worker. */
  | { readonly kind: 'policy'; readonly revision: string }
  /** The state of the worker's parts; the answer to `check`. */
  | { readonly kind: 'checked'; readonly id: number; readonly checks: Readonly<Record<string, Health>> }
  /** A write has committed with its record. */
  | { readonly kind: 'committed' }

export type FromPrimary =
  | {
      readonly kind: 'appended'
      readonly id: number
      /** Why the lines can't be written. */
      readonly error?: string
    }
  | { readonly kind: 'check'; readonly id: number }

interface WaitingLines {
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

export function createWorkerLog(report: (event: DecisionLogEvent) => void): DecisionLog {
  const waiting = new Map<number, WaitingLines>()
  let last = 0
  const append = (lines: string) =>
    new Promise<void>((done, failed) => {
      last += 1
      waiting.set(last, { done, failed })
      send({ kind: 'append', id: last, lines })
    })
  const lines = new Lines(append, report)
  const settle = ({ id, error }: Extract<FromPrimary, { kind: 'appended' }>) => {
    const one = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) one?.done()
    else one?.failed(new Error(error))
  }
  process.on('message', (message: FromPrimary) => {
    if (message.kind === 'appended') settle(message)
  })
  return {
    // The primary does this.
    begin: () => undefined,
    note: (line) => lines.written(line),
    noteUnawaited: (line) => lines.add({ line }),
    noteLines: (text) => lines.written(text.slice(0, -1)),
    committed: () => send({ kind: 'committed' }),
    // The primary does this.
    reopen: () => undefined,
    get failing() {
      return lines.failing
    },
    async close() {
      lines.flush()
      while (waiting.size > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    },
  }
}

export function send(message: ToPrimary): void {
  process.send?.(message)
}

type HealthByPart = Readonly<Record<string, Health>>
type CheckedMessage = Extract<ToPrimary, { kind: 'checked' }>

/** A worker that takes longer counts as one that doesn't answer. */
const PATIENCE_MS = 2000

let asked = 0

/** Lets this worker answer the checks of its primary. */
export function answerChecks(checks: () => Promise<HealthByPart>): void {
  process.on('message', async (message: FromPrimary) => {
    if (message.kind === 'check') send({ kind: 'checked', id: message.id, checks: await checks() })
  })
}

/** `wanted`: how many workers there should be. */
export async function checkWorkers(workers: Iterable<Worker>, wanted: number): Promise<HealthByPart> {
  const answers = (await Promise.all([...workers].map(askOne))).filter((answer) => answer !== undefined)
  const own = { workers: countOf(answers.length, wanted) }
  const parts = new Set(answers.flatMap((answer) => Object.keys(answer)))
  const merged = [...parts].map((part) => [part, together(answers.map((answer) => answer[part] ?? { status: 'ok' }))])
  return { ...own, ...Object.fromEntries(merged) }
}

function countOf(answering: number, wanted: number): Health {
  if (answering >= wanted) return { status: 'ok' }
  const detail = `${answering} of ${wanted} workers answer`
  return { status: answering === 0 ? 'unavailable' : 'degraded', detail }
}

/** A part that works in some workers only is degraded. */
function together(checks: readonly Health[]): Health {
  const [worst] = checks.filter(({ status }) => status !== 'ok')
  if (!worst || checks.every(({ status }) => status === worst.status)) return worst ?? { status: 'ok' }
  return { ...worst, status: 'degraded' }
}

function askOne(worker: Worker): Promise<HealthByPart | undefined> {
  const { promise, resolve } = Promise.withResolvers<HealthByPart | undefined>()
  asked += 1
  const id = asked
  const hear = (message: ToPrimary) => {
    if (message.kind === 'checked' && message.id === id) resolve((message as CheckedMessage).checks)
  }
  const giveUp = () => resolve(undefined)
  const impatience = setTimeout(giveUp, PATIENCE_MS)
  worker.on('message', hear)
  worker.once('exit', giveUp)
  if (worker.isConnected()) worker.send({ kind: 'check', id } satisfies FromPrimary)
  return promise.finally(() => {
    clearTimeout(impatience)
    worker.off('message', hear)
    worker.off('exit', giveUp)
  })
}
