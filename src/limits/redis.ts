/** Counts that instances share: in Redis, by Redis's clock. create-limiter.ts handles its failures. */
import { createHash } from 'node:crypto'
import { type Cluster, Redis, type RedisOptions } from 'ioredis'
import { againWith, withFix } from '../base/problems/fix.ts'
import { answerWithin } from '../base/under-way.ts'
import { type Admission, type Quota, UnusableCounts } from './limiter.ts'
import { type RedisPlace, readRedisUrl, type SentinelPlace, shownUrl } from './redis-url.ts'
import { describeAdmission, stepMicros } from './sliding-window.ts'
import { SLIDING_WINDOW_SCRIPT } from './sliding-window-script.ts'

export interface RedisScript {
  readonly text: string
  readonly sha: string
}

export function redisScript(text: string): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

const SCRIPT = redisScript(SLIDING_WINDOW_SCRIPT)

/** Longer keys are stored as their digest, so that no caller's name makes a key large. */
const PLAIN_KEY_BYTES = 64

export const CONNECT_MS = 1000

/** If Redis takes longer to answer, the counts are lost. */
export const ANSWER_MS = 250

/** One connection, used as long as it lasts: the client must not queue, send again or reconnect by itself. */
export const CONNECTION = {
  lazyConnect: true,
  enableOfflineQueue: false,
  enableReadyCheck: false,
  autoResendUnfulfilledCommands: false,
  disableClientInfo: true,
  retryStrategy: null,
  connectTimeout: CONNECT_MS,
  disconnectTimeout: 100,
} satisfies RedisOptions

/** So that within CONNECT_MS another Sentinel or node can be asked after one that hangs. */
export const HOST_MS = 300

/** A node keeps a part of the keys, so it can't count all quotas of a request. */
const OF_A_CLUSTER = 'REDIS_URL names a node of a Redis Cluster; write `redis-cluster:` in place of `redis:`'

export const REFUSED_LOGIN = /NOAUTH|WRONGPASS|NOPERM|invalid password|invalid username/

/** What a node answers about keys of other nodes. */
const CLUSTER_ANSWER = /^(?:MOVED|ASK|CROSSSLOT|CLUSTERDOWN|TRYAGAIN) /

/** A client of one Redis, or of the primary that Sentinels name; it must be told to connect. */
export function redisClient(url: string): Redis {
  const place = readRedisUrl(url)
  return place.kind === 'sentinel' ? new Redis(throughSentinels(place)) : new Redis(url, CONNECTION)
}

/** The client asks one Sentinel after the other. They end its connection when they name another primary. */
function throughSentinels({ hosts, isTls, name, db, login, sentinelLogin }: SentinelPlace) {
  return {
    ...CONNECTION,
    ...login,
    name,
    db,
    // Not always the same one first: it may hang.
    sentinels: hosts.toSorted(() => Math.random() - 0.5),
    ...(sentinelLogin.username === undefined ? {} : { sentinelUsername: sentinelLogin.username }),
    ...(sentinelLogin.password === undefined ? {} : { sentinelPassword: sentinelLogin.password }),
    ...(isTls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
    connectTimeout: HOST_MS,
    sentinelCommandTimeout: HOST_MS,
    sentinelRetryStrategy: () => null,
  } satisfies RedisOptions
}

/** Rejects within about a second if it fails, with what is wrong. Gives the last fault of the connection. */
export async function connectRedis(
  client: Redis,
  place: RedisPlace,
  ready: () => unknown = () => undefined,
): Promise<() => Error | undefined> {
  let fault: Error | undefined
  const refusals: string[] = []
  client.on('error', (error) => {
    fault = error
  })
  client.on('sentinelError', ({ message }: Error) => refusals.push(message))
  const connected = async () => {
    await client.connect()
    await ready()
  }
  await answerWithin(CONNECT_MS, connected()).catch((cause) => {
    client.disconnect()
    throw ofSentinels(place, refusals) ?? fault ?? cause
  })
  return () => fault
}

/** What Sentinels answered, if none of them named a primary. */
function ofSentinels(place: RedisPlace, refusals: readonly string[]): Error | undefined {
  if (place.kind !== 'sentinel' || refusals.length < place.hosts.length) return undefined
  const said = refusals.join('\n')
  const fault = (text: string, fix?: string) => withFix(new UnusableCounts(text, { cause: new Error(said) }), fix)
  if (/invalid reply: null|No such master/.test(said)) {
    const named = shownUrl({ ...place, path: '/<name>' })
    return fault(`no Sentinel of REDIS_URL knows \`${place.name}\``, againWith('REDIS_URL', `'${named}'`))
  }
  if (!REFUSED_LOGIN.test(said)) return fault('no Sentinel of REDIS_URL answers')
  const again = againWith('REDIS_URL', `'${shownUrl(place)}?sentinel_password=<password>'`)
  return fault('the Sentinels of REDIS_URL refuse its sentinel_username or sentinel_password', again)
}

/** False where it doesn't tell, because the user may not ask for it. */
export async function isOfCluster(client: Redis): Promise<boolean> {
  return /^cluster_enabled:1\r?$/m.test(await client.info('cluster').catch(() => ''))
}

export interface RedisAdmission extends Admission {
  /** When Redis decided, by its own clock: microseconds since the epoch. */
  readonly atMicros: number
}

export interface RedisLimiter {
  /** Replaces the connection by a new one. Rejects within about a second if that fails. */
  connect(): Promise<void>
  /**
   * One round trip, shared with the other requests of the same turn. Rejects if there is no connection, the connection
   * ends, Redis answers with an error, or not within `answerMs`. The keys must differ.
   */
  admit(quotas: readonly Quota[]): Promise<RedisAdmission>
  /** Calls the listener when a connection ends by itself. */
  onLost(listener: (cause: Error) => void): void
  /** Waiting calls reject. */
  disconnect(): void
}

/**
 * `url` is that of one Redis (5 or later) or of the Sentinels that name it. Every key has a time to live, and Redis must not evict any (`maxmemory-policy noeviction`): evicted counts are lost.
 */
export function createRedisLimiter(url: string, answerMs = ANSWER_MS): RedisLimiter {
  let connection: Redis | undefined
  let lost: (cause: Error) => void = () => {}
  /** It answered as a node of a Cluster. Its user may not be allowed to ask before. */
  let isNode = false

  function replace(next: Redis | undefined): void {
    const last = connection
    connection = next
    last?.disconnect()
  }

  async function connect(): Promise<void> {
    const client = redisClient(url)
    replace(client)
    const fault = await connectRedis(client, readRedisUrl(url), async () => {
      if (isNode || (await isOfCluster(client))) throw new UnusableCounts(OF_A_CLUSTER)
    })
    client.once('close', () => {
      if (client === connection) lost(fault() ?? new Error('the connection to Redis closed'))
    })
  }

  return {
    connect,
    admit: shareCalls(async (asked) => {
      if (connection?.status !== 'ready') throw new Error('not connected to Redis')
      const answer = await answerWithin(answerMs, decide(connection, asked)).catch((error: Error) => {
        if (!CLUSTER_ANSWER.test(error.message)) throw error
        isNode = true
        throw new UnusableCounts(OF_A_CLUSTER)
      })
      return readAnswers(asked, answer)
    }),
    onLost: (listener) => {
      lost = listener
    },
    disconnect: () => replace(undefined),
  }
}

function decide(client: Redis, asked: RequestBatch): Promise<Buffer> {
  return callScript(client, SCRIPT, asked.quotas.length, [...asked.quotas.map(redisKey), ...scriptArguments(asked)])
}

/** Those of the script, but for its keys. */
export function scriptArguments({ quotas, requests }: RequestBatch): (string | number)[] {
  const args: (string | number)[] = []
  for (const quota of quotas) args.push(quota.allow, stepMicros(quota))
  for (const positions of requests) {
    args.push(positions.length)
    // Indexes in Lua begin at 1.
    for (const position of positions) args.push(position + 1)
  }
  return args
}

/**
 * Redis forgets scripts on a restart or on SCRIPT FLUSH; sending the text again can't fail for that reason. The first
 * `keys` arguments are keys.
 */
export async function callScript(
  client: Redis | Cluster,
  { sha, text }: RedisScript,
  keys: number,
  args: readonly (string | number)[],
): Promise<Buffer> {
  const answer = await client.callBuffer('EVALSHA', sha, keys, ...args).catch((error: Error) => {
    if (!error.message.startsWith('NOSCRIPT')) throw error
    return client.callBuffer('EVAL', text, keys, ...args)
  })
  return answer as Buffer
}

function redisKey({ key }: Quota): string {
  return `sallyport:${shortText(key)}`
}

/** The text, or its digest if it is long. */
export function shortText(text: string): string {
  const isPlain = !text.startsWith('#') && Buffer.byteLength(text) <= PLAIN_KEY_BYTES
  return isPlain ? text : `#${createHash('sha256').update(text).digest('base64url')}`
}

export function readAnswers({ quotas, requests }: RequestBatch, answer: Buffer): readonly RedisAdmission[] {
  let at = 0
  const next = () => {
    const figure = answer.readDoubleLE(at)
    at += Float64Array.BYTES_PER_ELEMENT
    return figure
  }
  const atMicros = next()
  return requests.map((positions) => {
    const admitted = next() === 1
    const usages = positions.map((position) => {
      return { quota: quotas[position] as Quota, used: next(), freesAtMicros: next() }
    })
    const { quotas: states, retryAfterMs } = describeAdmission(admitted, atMicros, usages)
    return { admitted, quotas: states, retryAfterMs, atMicros }
  })
}

// Joins the requests of one turn of the event loop into one call: a call for each request was most of their cost, here
// and in Redis.

/** A call with more requests is sent at once: other clients of the same Redis wait while it decides. */
const REQUESTS_AT_MOST = 32

/** The requests of one call. */
export interface RequestBatch {
  /** Different keys. */
  readonly quotas: readonly Quota[]
  /** For each request, in the order of the decisions, the positions in `quotas` that it counts against. */
  readonly requests: readonly (readonly number[])[]
}

interface WaitingCommand<Answer> {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * `call` returns the answers in the order of the requests; if it rejects, each request rejects. The keys of a request
 * must differ.
 */
export function shareCalls<Answer>(
  call: (asked: RequestBatch) => Promise<readonly Answer[]>,
): (quotas: readonly Quota[]) => Promise<Answer> {
  let open = new SharedCall<Answer>()

  function send(): void {
    const full = open
    if (full.requests.length === 0) return
    open = new SharedCall()
    call(full).then(full.settle, full.fail)
  }

  return (quotas) => {
    if (open.requests.length === REQUESTS_AT_MOST || !open.agreesWith(quotas)) send()
    if (open.requests.length === 0) setImmediate(send)
    return open.add(quotas)
  }
}

class SharedCall<Answer> implements RequestBatch {
  readonly quotas: Quota[] = []
  readonly requests: number[][] = []
  readonly #positions = new Map<string, number>()
  readonly #waiting: WaitingCommand<Answer>[] = []

  /** A new policy may give a key another limit: requests under the two limits can't be decided in one call. */
  agreesWith(quotas: readonly Quota[]): boolean {
    return quotas.every(({ key, allow, windowMs }) => {
      const known = this.quotas[this.#positions.get(key) ?? -1]
      return known === undefined || (known.allow === allow && known.windowMs === windowMs)
    })
  }

  add(quotas: readonly Quota[]): Promise<Answer> {
    this.requests.push(quotas.map((quota) => this.#positionOf(quota)))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
    })
  }

  readonly settle = (answers: readonly Answer[]): void => {
    for (const [i, { resolve }] of this.#waiting.entries()) resolve(answers[i] as Answer)
  }

  readonly fail = (error: unknown): void => {
    for (const { reject } of this.#waiting) reject(error)
  }

  #positionOf(quota: Quota): number {
    const known = this.#positions.get(quota.key)
    if (known !== undefined) return known
    this.#positions.set(quota.key, this.quotas.length)
    return this.quotas.push(quota) - 1
  }
}
