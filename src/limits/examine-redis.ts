/** Looks at the Redis in which instances share their limits; changes nothing. */
import { Redis } from 'ioredis'
import { type Checked, clockChecked, faulted, passed, unchecked, warned } from '../base/problems/checked.ts'
import { againWith } from '../base/problems/fix.ts'
import { answerWithin } from '../base/under-way.ts'
import { CONNECTION, isOfCluster } from './redis.ts'

const CHECK = 'redis'
const WAIT_MS = 2000
const OLDEST = 5
/** If an answer takes longer, limits count as lost (create-limiter.ts). */
const SLOW_MS = 100

export async function examineRedis(url: string): Promise<readonly Checked[]> {
  const client = new Redis(url, CONNECTION)
  let fault: Error | undefined
  client.on('error', (error) => {
    fault = error
  })
  try {
    await answerWithin(WAIT_MS, client.connect())
    return await answerWithin(WAIT_MS, look(client, url))
  } catch (error) {
    return [refused(url, fault ?? (error as Error))]
  } finally {
    client.disconnect()
  }
}

async function look(client: Redis, url: string): Promise<readonly Checked[]> {
  const begun = performance.now()
  const [seconds, micros] = await client.time()
  const aroundMs = performance.now() - begun
  const info = await client.info()
  const infoOf = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const version = infoOf('redis_version')
  const answers = passed(CHECK, `${nameOf(url)} answers in ${aroundMs.toFixed(1)} ms: Redis ${version}`)
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
    ...((await isOfCluster(client))
      ? [
          faulted(
            CHECK,
            'it is a node of a Redis Cluster, which is not supported, so each process counts limits alone',
            againWith('REDIS_URL', 'redis://<host>:6379'),
          ),
        ]
      : []),
    evictions(infoOf('maxmemory_policy'), url),
    clockChecked(CHECK, { theirs, ours: Date.now(), aroundMs }),
  ]
}

function evictions(policy: string, url: string): Checked {
  if (policy === '') return unchecked(CHECK, "it doesn't tell its maxmemory-policy; set it to noeviction")
  if (policy === 'noeviction') return passed(CHECK, 'it evicts no counts (noeviction)')
  const fault = `its maxmemory-policy is ${policy}, so it can forget counts and let more requests in`
  return warned(CHECK, fault, `${commandLine(url)} config set maxmemory-policy noeviction`)
}

function refused(url: string, { message }: Error): Checked {
  if (message.startsWith('Unknown RESP type')) {
    const message = `${nameOf(url)} answers, but not as Redis does, so each process counts limits alone`
    return faulted(CHECK, message, againWith('REDIS_URL', 'redis://<host>:6379'))
  }
  const fault = `${nameOf(url)} can't be used (${message.replaceAll(passwordOf(url) || '\0', '…')}), so each process counts limits alone`
  if (/NOAUTH|WRONGPASS|invalid password|AUTH/.test(message)) return faulted(CHECK, fault, withPassword(url))
  const { hostname } = new URL(url)
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  return faulted(CHECK, fault, isHere ? 'sudo systemctl start redis-server' : `${commandLine(url)} ping`)
}

function withPassword(url: string): string {
  const { protocol, username, host, pathname } = new URL(url)
  return againWith('REDIS_URL', `'${protocol}//${username}:<password>@${host}${pathname}'`)
}

function commandLine(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `redis-cli -h ${hostname} -p ${port || 6379}${protocol === 'rediss:' ? ' --tls' : ''}${passwordOf(url) && ' --askpass'}`
}

function passwordOf(url: string): string {
  return decodeURIComponent(new URL(url).password)
}

/** Without user and password. */
function nameOf(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}
