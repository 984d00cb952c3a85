/** Readiness of all processes of one server, for the primary's admin port: asks each worker. */
import type { Worker } from 'node:cluster'
import type { Check } from '../routes/handler.ts'
import type { FromPrimary, ToPrimary } from './messages.ts'
import { send } from './worker-log.ts'

type Checks = Readonly<Record<string, Check>>
type Checked = Extract<ToPrimary, { kind: 'checked' }>

/** A worker that takes longer counts as one that doesn't answer. */
const PATIENCE_MS = 2000

let asked = 0

/** Lets this worker answer the checks of its primary. */
export function answerChecks(checks: () => Promise<Checks>): void {
  process.on('message', async (message: FromPrimary) => {
    if (message.kind === 'check') send({ kind: 'checked', id: message.id, checks: await checks() })
  })
}

/** `wanted`: how many workers there should be. */
export async function checkWorkers(workers: Iterable<Worker>, wanted: number): Promise<Checks> {
  const answers = (await Promise.all([...workers].map(askOne))).filter((answer) => answer !== undefined)
  const own = { workers: countOf(answers.length, wanted) }
  const parts = new Set(answers.flatMap((answer) => Object.keys(answer)))
  const merged = [...parts].map((part) => [part, together(answers.map((answer) => answer[part] ?? { status: 'ok' }))])
  return { ...own, ...Object.fromEntries(merged) }
}

function countOf(answering: number, wanted: number): Check {
  if (answering >= wanted) return { status: 'ok' }
  const detail = `${answering} of ${wanted} workers answer`
  return { status: answering === 0 ? 'unavailable' : 'degraded', detail }
}

/** A part that works in some workers only is degraded. */
function together(checks: readonly Check[]): Check {
  const [worst] = checks.filter(({ status }) => status !== 'ok')
  if (!worst || checks.every(({ status }) => status === worst.status)) return worst ?? { status: 'ok' }
  return { ...worst, status: 'degraded' }
}

function askOne(worker: Worker): Promise<Checks | undefined> {
  const { promise, resolve } = Promise.withResolvers<Checks | undefined>()
  asked += 1
  const id = asked
  const hear = (message: ToPrimary) => {
    if (message.kind === 'checked' && message.id === id) resolve((message as Checked).checks)
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
