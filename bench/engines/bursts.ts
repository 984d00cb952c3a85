/** Several processes burst over the edge of a window; counts the most that any window admitted. */
import { BenchFailure } from '../failure.ts'
import { type Running, start } from '../machine/processes.ts'
import type { Burst, BurstMessage, BurstSettings } from './burst-client.ts'

const CLIENT = new URL('burst-client.ts', import.meta.url).pathname
const CLIENTS = 4
const WINDOW_MICROS = 1_000_000

/** One number a trial: the most admissions in any second. */
export async function mostAdmitted(settings: BurstSettings, trials: number): Promise<readonly number[]> {
  const clients = Array.from({ length: CLIENTS }, () => startClient(settings))
  try {
    await Promise.all(clients.map(messageOf))
    const most: number[] = []
    for (let trial = 1; trial <= trials; trial++) most.push(densest(await burst(clients, `edge${trial}`)))
    return most
  } finally {
    await Promise.all(clients.map((client) => client.stop()))
  }
}

function startClient(settings: BurstSettings): Running {
  return start([process.execPath, CLIENT, JSON.stringify(settings)], { cpu: 'server', channel: true })
}

async function burst(clients: readonly Running[], key: string): Promise<readonly number[]> {
  const begin = Date.now() + 100
  const answers = clients.map((client, i) => {
    client.child.send({ key, begin, opens: i === 0 } satisfies Burst)
    return messageOf(client)
  })
  return (await Promise.all(answers)).flatMap((message) => (message === 'ready' ? [] : message))
}

function messageOf({ child, complaint }: Running): Promise<BurstMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<BurstMessage>()
  const ended = () => reject(new BenchFailure(`a client of the limiter ended early: ${complaint()}`))
  child.once('exit', ended)
  child.once('message', (message: BurstMessage) => {
    child.off('exit', ended)
    resolve(message)
  })
  return promise
}

/** The most times in any half-open window. */
export function densest(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  let most = 0
  let first = 0
  for (const [last, time] of sorted.entries()) {
    while (time - (sorted[first] ?? time) >= WINDOW_MICROS) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}
