/** Throw-away groups of Redis for tests: a primary and its replicas under Sentinels, and a Cluster. */
import { Redis } from 'ioredis'
import { type RedisOptions, type RedisServer, startRedis } from './redis.ts'
import { until } from './until.ts'

/** How soon Sentinels and nodes of a Cluster take one for lost; short, and longer than a busy machine stalls. */
const DOWN_AFTER_MS = 1000

export const NAME = 'limits'

interface SentinelOptions {
  readonly sentinels?: number
  /** Of the primary and its replica. */
  readonly password?: string
  readonly args?: readonly string[]
  /** Lines of the Sentinels' configuration. */
  readonly lines?: readonly string[]
  /** Of the whole group. */
  readonly common?: Omit<RedisOptions, 'args' | 'configuration'>
}

export interface SentinelGroup {
  readonly primary: RedisServer
  readonly replica: RedisServer
  readonly sentinels: readonly RedisServer[]
  readonly url: string
  stop(): Promise<void>
}

const OFTEN = ['INFO-PERIOD', 500, 'PUBLISH-PERIOD', 200]

const REPLICATING = ['--repl-diskless-sync', 'yes', '--repl-diskless-sync-delay', '0']

/** Waits until the replica follows and each Sentinel knows it and the others. */
export async function startSentinels(options: SentinelOptions = {}): Promise<SentinelGroup> {
  const { sentinels: many = 1, password, args: more = [], lines = [], common = {} } = options
  const args = [...more, ...(password === undefined ? [] : ['--requirepass', password, '--masterauth', password])]
  const primary = await startRedis({ ...common, args: [...REPLICATING, ...args] })
  const follow = ['--replicaof', '127.0.0.1', `${primary.port}`]
  const replica = await startRedis({ ...common, args: [...REPLICATING, ...follow, ...args] })
  await until(async () => /^master_link_status:up/m.test(await ask({ ...replica, password }, 'INFO', 'replication')))
  const quorum = Math.floor(many / 2) + 1
  const configuration = [
    `sentinel monitor ${NAME} 127.0.0.1 ${primary.port} ${quorum}`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} 3000`,
    ...lines,
  ].join('\n')
  const sentinels = await Promise.all(
    Array.from({ length: many }, () => startRedis({ ...common, configuration, args: ['--sentinel'] })),
  )
  const knows = async (sentinel: RedisServer) => {
    const text = await ask(sentinel, 'INFO', 'sentinel')
    return text.includes(`slaves=1,sentinels=${many}`) && text.includes('status=ok')
  }
  if (lines.length === 0) {
    // They look ten times as often as by themselves.
    for (const sentinel of sentinels) await ask(sentinel, 'SENTINEL', 'DEBUG', ...OFTEN)
    for (const sentinel of sentinels) await until(() => knows(sentinel))
  }
  const all = [...sentinels, replica, primary]
  return {
    primary,
    replica,
    sentinels,
    url: `redis-sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join()}/${NAME}`,
    stop: async () => void (await Promise.all(all.map((one) => one.kill()))),
  }
}

/** The text that it answers. */
export async function ask(
  { port, password = '' }: RedisServer & { readonly password?: string | undefined },
  name: string,
  ...args: readonly (string | number)[]
): Promise<string> {
  const client = new Redis({ port, password, retryStrategy: null, lazyConnect: true })
  client.on('error', () => {})
  try {
    await client.connect()
    return String(await client.call(name, ...args))
  } finally {
    client.disconnect()
  }
}
