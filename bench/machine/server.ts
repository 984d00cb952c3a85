/** A server under measurement: started on a free port, and refused unless it answers as it must. */
import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFailure } from '../failure.ts'
import type { Target } from '../fixture/shape.ts'
import { freePort, type Running, start } from './processes.ts'

export interface Contender {
  readonly name: string
  /** Listens on the environment's PORT. */
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly target: Target
  /** Whether the others are measured without it when it doesn't start or answers wrongly. */
  readonly mayFail?: boolean
  /** Whether it speaks with the bench (preload/event-loop.ts). */
  readonly channel?: boolean
  /** One for the servers when not given. */
  readonly cpu?: 'server' | 'any'
}

export interface Server extends Running {
  readonly name: string
  readonly base: string
  readonly target: Target
  /** Milliseconds from the start of the process to its first answer. */
  readonly firstAnswerMs: number
}

const START_MS = 60_000
const ANSWER_MS = 10_000

/** Throws BenchFailure when it doesn't answer, or answers with a wrong status. */
export async function startServer(contender: Contender): Promise<Server> {
  try {
    return await startOnce(contender)
  } catch (error) {
    // Another program may have taken the port meanwhile.
    if (error instanceof BenchFailure) return startOnce(contender)
    throw error
  }
}

async function startOnce({ name, command, environment, target, channel, cpu = 'server' }: Contender): Promise<Server> {
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const began = performance.now()
  const running = start(command, {
    cpu,
    environment: { NODE_ENV: 'production', ...environment, PORT: String(port) },
    ...(channel ? { channel } : {}),
  })
  try {
    await untilItAnswers(running, `${base}${target.path}${target.ids[0]}`, target.token)
    const firstAnswerMs = performance.now() - began
    await refuseWrongStatuses(base, target)
    return { ...running, name, base, target, firstAnswerMs }
  } catch (error) {
    await running.stop()
    throw error instanceof BenchFailure ? new BenchFailure(`\`${name}\`: ${error.message}`) : error
  }
}

async function untilItAnswers(running: Running, url: string, token: string): Promise<void> {
  for (const end = performance.now() + START_MS; performance.now() < end; await sleep(2)) {
    if (running.exitCode() !== undefined) {
      throw new BenchFailure(`it ended with code ${running.exitCode()}: ${running.complaint()}`)
    }
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(START_MS),
    }).catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer) return
  }
  throw new BenchFailure('it did not answer within a minute')
}

/** The six cases that every contender is held to before anything is measured. Throws BenchFailure. */
export async function refuseWrongStatuses(base: string, target: Target): Promise<void> {
  const { path, ids, otherId, missingId, token, adminToken, expect } = target
  const cases = [
    { what: 'own', id: ids[0], token },
    { what: "another's", id: otherId, token },
    { what: 'no token', id: ids[0] },
    { what: 'missing', id: missingId, token },
    { what: 'admin', id: ids[0], token: adminToken },
    { what: 'wrong method', id: ids[0], token, method: 'POST' },
  ]
  for (const [i, { what, id, token: bearer, method = 'GET' }] of cases.entries()) {
    const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
    const answer = await fetch(`${base}${path}${id}`, {
      method,
      headers,
      signal: AbortSignal.timeout(ANSWER_MS),
    }).catch(() => undefined)
    if (!answer) throw wrong(what, 'no answer')
    const body = await answer.text()
    if (answer.status !== expect[i]) throw wrong(what, `${answer.status} in place of ${expect[i]}`)
    if (i === 0 && String(JSON.parse(body).id) !== String(id)) throw wrong(what, 'another object than was asked for')
  }
}

function wrong(what: string, found: string): BenchFailure {
  return new BenchFailure(`it is not measured, because it answered wrongly (${what}: ${found})`)
}
