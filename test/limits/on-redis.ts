/** Set-up for tests that lose a Redis: servers and limiters that go when a test ends. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createLimiter, type LimiterEvent } from '../../src/limits/create-limiter.ts'
import { removeNow } from '../ends-with-tests.ts'
import { type RedisServer, startRedis } from '../redis.ts'

export const INSTANCES = 4

const cleanups: (() => unknown)[] = []

export function onEnd(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

export async function end(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
}

export async function start(options: Parameters<typeof startRedis>[0] = {}): Promise<RedisServer> {
  const redis = await startRedis(options)
  onEnd(redis.kill)
  return redis
}

/** A Redis that reads its keys so slowly from a snapshot that it takes about a second. */
export async function startLoading(): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-snapshot-'))
  onEnd(() => removeNow(directory))
  const saving = await start({ directory })
  await command(saving, ['EVAL', "for i = 1, 1000 do redis.call('SET', i, string.rep(i, 1000)) end", '0'])
  await command(saving, ['SAVE'])
  await saving.kill()
  return start({ directory, args: ['--key-load-delay', '1500', '--loading-process-events-interval-bytes', '1024'] })
}

export async function open(redisUrl: string) {
  const events: LimiterEvent[] = []
  const observe = (event: LimiterEvent) => events.push(event)
  const limiter = await createLimiter({ redisUrl, instances: INSTANCES, observe })
  onEnd(() => limiter.close())
  return { limiter, events, kinds: () => events.map(({ kind }) => kind) }
}

export function causeOf(event: LimiterEvent | undefined): string {
  return event?.kind === 'lost' && event.cause instanceof Error ? event.cause.message : `not a loss: ${event?.kind}`
}

export async function command({ url }: RedisServer, [name = '', ...args]: readonly string[]): Promise<unknown> {
  const client = new Redis(url)
  try {
    return await client.call(name, ...args)
  } finally {
    client.disconnect()
  }
}

export async function keysOf(redis: RedisServer): Promise<unknown> {
  return command(redis, ['KEYS', '*'])
}
