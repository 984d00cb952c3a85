/** Looks at the Redis in which instances share their limits; changes nothing. */
import type { Socket } from 'node:net'
import type { Cluster, Redis } from 'ioredis'
import { type Checked, clockChecked, faulted, passed, unchecked, warned } from '../base/problems/checked.ts'
import { againWith, fixIn } from '../base/problems/fix.ts'
import { answerWithin } from '../base/under-way.ts'
import { UnusableCounts } from './limiter.ts'
import { connectRedis, isOfCluster, REFUSED_LOGIN, redisClient } from './redis.ts'
import { clusterClient, connectCluster } from './redis-cluster.ts'
import { type ClusterPlace, type RedisHost, type RedisPlace, readRedisUrl, redisCli, shownUrl } from './redis-url.ts'

const CHECK = 'redis'
const WAIT_MS = 2000
const OLDEST = 5
/** If an answer takes longer, limits count as lost (create-limiter.ts). */
const SLOW_MS = 100

export async function examineRedis(url: string): Promise<readonly Checked[]> {
  const place = readRedisUrl(url)
  if (place.kind === 'cluster') return examineCluster(place)
  const client = redisClient(url)
  try {
    await connectRedis(client, place)
    return await answerWithin(WAIT_MS, look(client, place))
  } catch (error) {
    return [refused(place, error as Error)]
  } finally {
    client.disconnect()
  }
}

async function examineCluster(place: ClusterPlace): Promise<readonly Checked[]> {
  const cluster = clusterClient(place)
  try {
    await connectCluster(cluster, place)
    const found = await Promise.all(cluster.nodes('master').map((node) => examineNode(node, place)))
    return [await state(cluster, place), ...found.flat()]
  } catch (error) {
    return [refused(place, error as Error)]
  } finally {
    cluster.disconnect()
  }
}

async function state(cluster: Cluster, place: ClusterPlace): Promise<Checked> {
  const isOk = /^cluster_state:ok\r?$/m.test(String(await answerWithin(WAIT_MS, cluster.cluster('INFO'))))
  if (isOk) return passed(CHECK, `${shownUrl(place)} is a Cluster whose slots all have nodes`)
  const fault = `${shownUrl(place)} is a Cluster that is down, so each process counts limits alone`
  return faulted(CHECK, fault, `${redisCli(place, place.hosts[0] as RedisHost)} cluster nodes`)
}

async function examineNode(node: Redis, place: ClusterPlace): Promise<readonly Checked[]> {
  const { host = '', port = 0 } = node.options
  const at: ClusterPlace = { ...place, hosts: [{ host, port }] }
  const found = await answerWithin(WAIT_MS, look(node, at)).catch((error: Error) => [refused(at, error)])
  return found.map((one) =>
    one.message.includes(`${port}`) ? one : { ...one, message: `${host}:${port}: ${one.message}` },
  )
}

async function look(client: Redis, place: RedisPlace): Promise<readonly Checked[]> {
  const begun = performance.now()
  const [seconds, micros] = await client.time()
  const aroundMs = performance.now() - begun
  const info = await client.info()
  const infoOf = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const version = infoOf('redis_version')
  const answers = passed(CHECK, `${shownUrl(place)} answers in ${aroundMs.toFixed(1)} ms: Redis ${version}`)
  const command = redisCli(place, addressOf(client, place))
  const theirs = Number(seconds) * 1000 + Number(micros) / 1000
  return [
    answers,
    ...(Number.parseInt(version, 10) < OLDEST
      ? [
          faulted(
            CHECK,
            `Redis ${version} is too old; ${OLDEST} or newer is needed`,
            againWith('REDIS_URL', `redis://<host>:6379`),
          ),
        ]
      : []),
    ...(aroundMs > SLOW_MS
      ? [warned(CHECK, `its answer took ${aroundMs.toFixed(0)} ms; each request waits for one`)]
      : []),
    ...(infoOf('role') === 'slave'
      ? [faulted(CHECK, 'it is a replica, which counts nothing', againWith('REDIS_URL', 'redis://<primary>:6379'))]
      : []),
    ...(place.kind !== 'cluster' && (await isOfCluster(client))
      ? [
          faulted(
            CHECK,
            'it is a node of a Redis Cluster, but REDIS_URL names it alone, so each process counts limits alone',
            againWith('REDIS_URL', `'${shownUrl({ ...place, kind: 'cluster', path: '' })}'`),
          ),
        ]
      : []),
    evictions(infoOf('maxmemory_policy'), command),
    ...(place.kind === 'one' ? [] : [replication(place, infoOf, command)]),
    clockChecked(CHECK, { theirs, ours: Date.now(), aroundMs }),
  ]
}

/** Where the client is connected, whoever named it. */
function addressOf({ stream, options }: Redis, { kind }: RedisPlace): RedisHost {
  if (kind !== 'sentinel') return { host: options.host ?? '127.0.0.1', port: options.port ?? 6379 }
  const { remoteAddress = '<primary>', remotePort = 6379 } = stream as Socket
  return { host: remoteAddress, port: remotePort }
}

/**
 * Redis tells how many replicas follow closely only where `min-replicas-to-write` is set. A node of a Cluster stops by
 * itself when it is cut off, and a primary with one replica can't ask for one: the replica has none once it is promoted.
 */
function replication({ kind }: RedisPlace, infoOf: (name: string) => string, command: string): Checked {
  const replicas = Number(infoOf('connected_slaves'))
  if (replicas === 0) return warned(CHECK, 'it has no replica, so no Redis can take over')
  if (infoOf('min_slaves_good_slaves') !== '') return passed(CHECK, 'it counts only while a replica follows')
  if (kind === 'cluster' || replicas === 1) return passed(CHECK, 'it has a replica that can take over')
  const fault = 'its min-replicas-to-write is 0, so it counts on when the network has cut it off from the others'
  return warned(CHECK, fault, `${command} config set min-replicas-to-write 1`)
}

function evictions(policy: string, command: string): Checked {
  if (policy === '') return unchecked(CHECK, "it doesn't tell its maxmemory-policy; set it to noeviction")
  if (policy === 'noeviction') return passed(CHECK, 'it evicts no counts (noeviction)')
  const fault = `its maxmemory-policy is ${policy}, so it can forget counts and let more requests in`
  return warned(CHECK, fault, `${command} config set maxmemory-policy noeviction`)
}

function refused(place: RedisPlace, error: Error): Checked {
  if (error.message.startsWith('Unknown RESP type')) {
    const message = `${shownUrl(place)} answers, but not as Redis does, so each process counts limits alone`
    return faulted(CHECK, message, againWith('REDIS_URL', 'redis://<host>:6379'))
  }
  const said = error instanceof UnusableCounts ? error.message : `${shownUrl(place)} can't be used (${error.message})`
  const fault = `${said}, so each process counts limits alone`
  if (fixIn(error) !== undefined) return faulted(CHECK, fault, fixIn(error))
  if (REFUSED_LOGIN.test(error.message)) {
    return faulted(CHECK, fault, againWith('REDIS_URL', `'${shownUrl(place, '<password>')}'`))
  }
  const [first = { host: '127.0.0.1', port: 6379 }] = place.hosts
  const isHere = ['localhost', '127.0.0.1', '::1'].includes(first.host)
  const ping = `${redisCli(place, first)} ping`
  return faulted(CHECK, fault, isHere && place.kind === 'one' ? 'sudo systemctl start redis-server' : ping)
}
