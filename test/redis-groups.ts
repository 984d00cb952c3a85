/** Throw-away groups of Redis for tests: a primary and its replicas under Sentinels, and a Cluster. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { removeWithTests } from './ends-with-tests.ts'
import type { OwnNetwork } from './own-network.ts'
import { freePort, type RedisOptions, type RedisServer, startRedis } from './redis.ts'
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
  /** The primary is there, and the others are its peers. */
  readonly network?: OwnNetwork
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

/** Redis asks for a password, or to be told that none is needed, where clients come from another machine. */
const UNPROTECTED = ['--protected-mode', 'no']

function apart(network: OwnNetwork | undefined): RedisOptions {
  return network === undefined ? {} : { host: network.host, within: network.within }
}

function beside(network: OwnNetwork | undefined): RedisOptions {
  if (network === undefined) return { args: UNPROTECTED }
  return { host: network.peers, args: [...UNPROTECTED, '--bind-source-addr', network.peers] }
}

function addressOf({ host, port }: RedisServer): string {
  return `${host}:${port}`
}

/** Waits until the replica follows and each Sentinel knows it and the others. */
export async function startSentinels(options: SentinelOptions = {}): Promise<SentinelGroup> {
  const { sentinels: many = 1, password, args: more = [], lines = [], network } = options
  const args = [...more, ...(password === undefined ? [] : ['--requirepass', password, '--masterauth', password])]
  const primary = await startRedis({ ...apart(network), args: [...UNPROTECTED, ...REPLICATING, ...args] })
  const { args: common = [], ...place } = beside(network)
  const follow = ['--replicaof', primary.host, `${primary.port}`]
  const replica = await startRedis({ ...place, args: [...common, ...REPLICATING, ...follow, ...args] })
  await until(async () => /^master_link_status:up/m.test(await ask({ ...replica, password }, 'INFO', 'replication')))
  const quorum = Math.floor(many / 2) + 1
  const configuration = [
    `sentinel monitor ${NAME} ${primary.host} ${primary.port} ${quorum}`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} 3000`,
    ...lines,
  ].join('\n')
  const sentinels = await Promise.all(
    Array.from({ length: many }, () => startRedis({ ...place, configuration, args: [...common, '--sentinel'] })),
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
    url: `redis-sentinel://${sentinels.map(addressOf).join()}/${NAME}`,
    stop: async () => void (await Promise.all(all.map((one) => one.kill()))),
  }
}

export interface RedisCluster {
  /** Three primaries with a third of the slots each, and then a replica of each. */
  readonly nodes: readonly RedisServer[]
  readonly ids: readonly string[]
  readonly url: string
  stop(): Promise<void>
}

interface ClusterOptions {
  /** The first primary is there, and the others are its peers. */
  readonly network?: OwnNetwork
}

const SLOTS = 16_384

/** Six nodes that know one another from the beginning. Waits until the replicas follow. */
export async function startCluster({ network }: ClusterOptions = {}): Promise<RedisCluster> {
  const ids = Array.from({ length: 6 }, () => randomBytes(20).toString('hex'))
  const ports = await Promise.all(ids.map(() => freePort()))
  const places = ids.map((_, i) => (i === 0 ? { args: UNPROTECTED, ...apart(network) } : beside(network)))
  const buses = await Promise.all(ids.map(() => freePort()))
  const lineOf = (id: string, i: number, self: number) => {
    const [first, next] = [Math.ceil((i * SLOTS) / 3), Math.ceil(((i + 1) * SLOTS) / 3)]
    const flags = `${i === self ? 'myself,' : ''}${i < 3 ? 'master' : 'slave'}`
    const place = `${id} ${places[i]?.host ?? '127.0.0.1'}:${ports[i]}@${buses[i]} ${flags} ${i < 3 ? '-' : ids[i - 3]}`
    return `${place} 0 0 ${(i % 3) + 1} connected${i < 3 ? ` ${first}-${next - 1}` : ''}`
  }
  const nodes = await Promise.all(
    ids.map((_, self) => {
      const directory = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-redis-')))
      const lines = [...ids.map((id, i) => lineOf(id, i, self)), 'vars currentEpoch 3 lastVoteEpoch 0']
      writeFileSync(join(directory, 'nodes.conf'), `${lines.join('\n')}\n`)
      return startRedis({
        ...places[self],
        port: ports[self] ?? 0,
        directory,
        args: [
          ...['--cluster-enabled', 'yes', '--cluster-port', `${buses[self]}`],
          ...['--cluster-node-timeout', `${DOWN_AFTER_MS}`, '--cluster-replica-validity-factor', '0'],
          ...REPLICATING,
          ...(places[self]?.args ?? []),
        ],
      })
    }),
  )
  for (const node of nodes) {
    await until(async () => /cluster_state:ok/.test(await ask(node, 'CLUSTER', 'INFO')))
  }
  for (const node of nodes.slice(3)) {
    await until(async () => /^master_link_status:up/m.test(await ask(node, 'INFO', 'replication')))
  }
  return {
    nodes,
    ids,
    url: `redis-cluster://${nodes.map(addressOf).join()}`,
    stop: async () => void (await Promise.all(nodes.map((node) => node.kill()))),
  }
}

/** Whether it is a `master` or a `slave`; not while it ends all connections, as it does when that changes. */
export async function isNow(role: 'master' | 'slave', server: RedisServer): Promise<boolean> {
  const answer = await ask(server, 'ROLE').catch(() => '')
  return answer.startsWith(role)
}

/** The text that it answers. */
export async function ask(
  { host, port, password = '' }: RedisServer & { readonly password?: string | undefined },
  name: string,
  ...args: readonly (string | number)[]
): Promise<string> {
  const client = new Redis({ host, port, password, retryStrategy: null, lazyConnect: true })
  client.on('error', () => {})
  try {
    await client.connect()
    return String(await client.call(name, ...args))
  } finally {
    client.disconnect()
  }
}
