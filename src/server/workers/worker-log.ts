/**
 * The decision log of a worker: its lines go to the primary, which alone writes the file and ships what writes leave in
 * the store.
 */
import { type DecisionLog, type DecisionLogEvent, Lines } from '../../decision-log/decision-log.ts'
import type { FromPrimary, ToPrimary } from './messages.ts'

interface Waiting {
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

export function createWorkerLog(tell: (event: DecisionLogEvent) => void): DecisionLog {
  const waiting = new Map<number, Waiting>()
  let last = 0
  const append = (lines: string) =>
    new Promise<void>((done, failed) => {
      last += 1
      waiting.set(last, { done, failed })
      send({ kind: 'append', id: last, lines })
    })
  const lines = new Lines(append, tell)
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
