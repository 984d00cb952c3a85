/**
 * Counts that instances share in a Redis Cluster. The client knows which node has a key, and follows keys that move
 * (ioredis). create-limiter.ts handles failures, as of one Redis.
 */
import slotOf from 'cluster-key-slot'
import { Cluster } from 'ioredis'
import { againWith, withFix } from '../base/problems/fix.ts'
import { answerWithin } from '../base/under-way.ts'
import { type Quota, type QuotaState, UnusableCounts } from './limiter.ts'
import {
  ANSWER_MS,
  CONNECT_MS,
  callScript,
  HOST_MS,
  REFUSED_LOGIN,
  type RedisAdmission,
  type RedisLimiter,
  type RequestBatch,
  readAnswers,
  redisScript,
  scriptArguments,
  shareCalls,
  shortText,
} from './redis.ts'
import { type ClusterPlace, shownUrl } from './redis-url.ts'
import { GIVE_BACK_SCRIPT, KEYS_LAST, SLIDING_WINDOW_SCRIPT } from './sliding-window-script.ts'

const SLOTS = 16_384

const ALONE = redisScript(SLIDING_WINDOW_SCRIPT)

/** A call may have keys of several slots only if it doesn't say which arguments are keys. */
const TOGETHER = redisScript(KEYS_LAST + SLIDING_WINDOW_SCRIPT)

const GIVE_BACK = redisScript(GIVE_BACK_SCRIPT)

/** A node answers so about keys that it doesn't have, or before it has counted anything. */
const ELSEWHERE = /^(?:MOVED|ASK|ERR) /

/** Some quotas of a request, which one call decided. */
interface PartialAdmission {
  readonly of: readonly Quota[]
  readonly answer: RedisAdmission
}

export function createClusterLimiter(place: ClusterPlace, answerMs = ANSWER_MS): RedisLimiter {
  let connection: Cluster | undefined
  let nodes = new Map<string, (quotas: readonly Quota[]) => Promise<RedisAdmission>>()
  let lost: (cause: Error) => void = () => {}

  function replace(next: Cluster | undefined): void {
    const last = connection
    connection = next
    nodes = new Map()
    last?.disconnect()
  }

  function connected(): Cluster {
    if (connection?.status !== 'ready') throw new Error('not connected to the Redis Cluster')
    return connection
  }

  async function connect(): Promise<void> {
    const cluster = clusterClient(place)
    replace(cluster)
    await connectCluster(cluster, place)
    try {
      await Promise.all(probesOf(cluster).map(admit))
    } catch (cause) {
      cluster.disconnect()
      throw cause
    }
    cluster.once('end', () => {
      if (cluster === connection) lost(new Error('the connections to the Redis Cluster closed'))
    })
  }

  async function admit(quotas: readonly Quota[]): Promise<RedisAdmission> {
    const { slots } = connected()
    const groups = Map.groupBy(quotas, (quota) => nodeOf(slots, quota))
    const parts = (await Promise.all([...groups].map(([node, some]) => askNode(node, some)))).flat()
    const [only] = parts
    return only && parts.length === 1 ? only.answer : settle(quotas, parts)
  }

  /** Gives back what one part admitted and another refused. */
  async function settle(quotas: readonly Quota[], parts: readonly PartialAdmission[]): Promise<RedisAdmission> {
    const admitted = parts.every(({ answer }) => answer.admitted)
    if (!admitted) await Promise.all(parts.filter(({ answer }) => answer.admitted).flatMap(giveBack))
    return together(quotas, parts, admitted)
  }

  function giveBack({ of, answer: { atMicros } }: PartialAdmission): readonly Promise<unknown>[] {
    return of.map((quota) => {
      return answerWithin(answerMs, callScript(connected(), GIVE_BACK, 1, [clusterKey(quota), atMicros]))
    })
  }

  /** One call for the requests of a turn to this node; one for each key if it doesn't have all of them any more. */
  async function askNode(node: string, quotas: readonly Quota[]): Promise<readonly PartialAdmission[]> {
    const ask = nodes.get(node) ?? shareCalls((batch) => askTogether(node, batch))
    nodes.set(node, ask)
    try {
      return [{ of: quotas, answer: await ask(quotas) }]
    } catch (error) {
      if (!(error instanceof Error && ELSEWHERE.test(error.message))) throw error
      return Promise.all(quotas.map(askAlone))
    }
  }

  async function askTogether(node: string, batch: RequestBatch): Promise<readonly RedisAdmission[]> {
    const client = connected()
      .nodes('master')
      .find(({ options }) => `${options.host}:${options.port}` === node)
    if (!client) throw new Error('MOVED to a node that is not connected')
    const keys = batch.quotas.map(clusterKey)
    const args = [...scriptArguments(batch), ...keys, keys.length]
    return readAnswers(batch, await answerWithin(answerMs, callScript(client, TOGETHER, 0, args)))
  }

  async function askAlone(quota: Quota): Promise<PartialAdmission> {
    const batch = { quotas: [quota], requests: [[0]] }
    const call = callScript(connected(), ALONE, 1, [clusterKey(quota), ...scriptArguments(batch)])
    const [answer] = readAnswers(batch, await answerWithin(answerMs, call))
    return { of: [quota], answer: answer as RedisAdmission }
  }

  return {
    connect,
    admit,
    onLost: (listener) => {
      lost = listener
    },
    disconnect: () => replace(undefined),
  }
}

export function clusterClient({ hosts, login, isTls }: ClusterPlace): Cluster {
  return new Cluster([...hosts], {
    lazyConnect: true,
    enableReadyCheck: false,
    clusterRetryStrategy: () => null,
    // What a node doesn't answer is lost: it isn't asked again, and neither are others.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshTimeout: HOST_MS,
    // Certificates have names.
    dnsLookup: (name, found) => found(null, name),
    redisOptions: {
      ...login,
      ...(isTls ? { tls: {} } : {}),
      enableReadyCheck: false,
      autoResendUnfulfilledCommands: false,
      disableClientInfo: true,
      connectTimeout: HOST_MS,
      disconnectTimeout: 100,
    },
  })
}

/** Rejects within about a second if it fails, with what is wrong. */
export async function connectCluster(cluster: Cluster, place: ClusterPlace): Promise<void> {
  const faults: Error[] = []
  cluster.on('error', () => {})
  cluster.on('node error', (fault: Error) => faults.push(fault))
  await answerWithin(CONNECT_MS, cluster.connect()).catch((cause) => {
    cluster.disconnect()
    const [first = cause] = faults.toSorted((one, other) => rank(one) - rank(other))
    throw /cluster support disabled/.test(first.message) ? withoutClusterMode(place) : first
  })
}

/** First what an operator must change. */
function rank({ message }: Error): number {
  return /cluster support disabled/.test(message) || REFUSED_LOGIN.test(message) ? 0 : 1
}

function withoutClusterMode(place: ClusterPlace): Error {
  const one = shownUrl({ ...place, kind: 'one', hosts: place.hosts.slice(0, 1) })
  const text = 'REDIS_URL names a Redis without cluster mode; write `redis:` in place of `redis-cluster:`'
  return withFix(new UnusableCounts(text), againWith('REDIS_URL', `'${one}'`))
}

/** For each node a quota that it counts. Throws if a slot has no node. */
function probesOf({ slots }: Cluster): readonly (readonly Quota[])[] {
  const nodes = new Set<string>()
  for (let slot = 0; slot < SLOTS; slot++) {
    const [node] = slots[slot] ?? []
    if (node === undefined) throw new Error(`no node of the Redis Cluster has slot ${slot}`)
    nodes.add(node)
  }
  const probes: (readonly Quota[])[] = []
  for (let i = 0; nodes.size > 0; i++) {
    const quota = { name: '#probe', key: `#probe ${i}`, allow: 1_000_000_000, windowMs: 1000 }
    if (nodes.delete(nodeOf(slots, quota))) probes.push([quota])
  }
  return probes
}

function nodeOf(slots: Cluster['slots'], quota: Quota): string {
  return slots[slotOf(clusterKey(quota))]?.[0] ?? ''
}

/** Keys of one caller have a hash tag in common (up to a `}` in its name), so that one node counts a request by all limits of its caller. */
function clusterKey({ key, caller }: Quota): string {
  const tag = caller === undefined ? '' : `{${shortText(caller)}}`
  return `sallyport:${tag}${shortText(key)}`
}

/** In the order of the quotas. */
function together(quotas: readonly Quota[], parts: readonly PartialAdmission[], admitted: boolean): RedisAdmission {
  const states = new Map<Quota, QuotaState>()
  for (const { of, answer } of parts) {
    for (const [i, quota] of of.entries()) {
      const state = answer.quotas[i] as QuotaState
      states.set(quota, answer.admitted && !admitted ? givenBack(state, quota) : state)
    }
  }
  return {
    admitted,
    quotas: quotas.map((quota) => states.get(quota) as QuotaState),
    retryAfterMs: Math.max(0, ...parts.map(({ answer }) => answer.retryAfterMs)),
    atMicros: Math.max(0, ...parts.map(({ answer }) => answer.atMicros)),
  }
}

function givenBack(state: QuotaState, { allow }: Quota): QuotaState {
  const remaining = state.remaining + 1
  return { ...state, remaining, resetMs: remaining < allow ? state.resetMs : 0 }
}
