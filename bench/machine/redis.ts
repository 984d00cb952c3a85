/** A Redis of its own for a measurement: on a free port, without persistence, beside the load. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { BenchFailure } from '../failure.ts'
import { freePort, start } from './processes.ts'
import { need } from './programs.ts'

export interface RedisServer {
  readonly port: number
  stop(): Promise<void>
}

const START_MS = 10_000

/** Throws BenchFailure. */
export async function startRedis(): Promise<RedisServer> {
  need('redis-server')
  const port = await freePort()
  const command = ['redis-server', '--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const server = start(command, { cpu: 'load' })
  await untilItAnswers(port)
  return { port, stop: server.stop }
}

async function untilItAnswers(port: number): Promise<void> {
  const client = new Redis({ port, lazyConnect: true, retryStrategy: () => 20, maxRetriesPerRequest: null })
  client.on('error', () => undefined)
  const answer = await Promise.race([client.ping(), sleep(START_MS)])
  client.disconnect()
  if (answer !== 'PONG') throw new BenchFailure('`redis-server` was started and does not answer')
}
