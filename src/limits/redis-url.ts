/** Reads REDIS_URL: one Redis, the primary that Sentinels name, or a Cluster. Loads no client. */

export interface RedisHost {
  readonly host: string
  readonly port: number
}

interface Login {
  readonly username?: string
  readonly password?: string
}

interface RedisNodes {
  readonly isTls: boolean
  readonly hosts: readonly RedisHost[]
  readonly login: Login
  /** What stands behind the hosts. */
  readonly path: string
}

export interface SentinelPlace extends RedisNodes {
  readonly kind: 'sentinel'
  /** The name that the Sentinels know the primary by. */
  readonly name: string
  readonly db: number
  /** At the Sentinels. */
  readonly sentinelLogin: Login
}

export interface ClusterPlace extends RedisNodes {
  readonly kind: 'cluster'
}

/** The client reads the URL of one Redis by itself. */
interface OnePlace extends RedisNodes {
  readonly kind: 'one'
}

export type RedisPlace = OnePlace | SentinelPlace | ClusterPlace

const ONE = /^rediss?:\/\/(?:[^%]|%[\dA-Fa-f]{2})*$/

const SEVERAL =
  /^(rediss?)-(sentinel|cluster):\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^@/?#]+)((?:\/[^?#]*)?)(?:\?([^#]*))?$/

const HOST = /^(?:\[([\dA-Fa-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/

const PORTS = { sentinel: 26_379, cluster: 6379 } as const

const EXAMPLES = {
  sentinel: 'redis-sentinel://host:26379,host:26379/name',
  cluster: 'redis-cluster://host:6379,host:6379',
} as const

const NOT_A_URL = 'REDIS_URL is not a Redis URL; set it to one like'
const WITH_PERCENT = 'with % of a password as %25'

/** What is wrong with the URL, without a word of it, in one sentence that begins with the setting's name. */
export function redisUrlFault(url: string): string | undefined {
  const place = read(url)
  return typeof place === 'string' ? place : undefined
}

/** The URL must have no fault. */
export function readRedisUrl(url: string): RedisPlace {
  const place = read(url)
  if (typeof place === 'string') throw new Error(place)
  return place
}

function read(url: string): RedisPlace | string {
  const kind = /^rediss?-(sentinel|cluster):/.exec(url)?.[1] as 'sentinel' | 'cluster' | undefined
  if (kind !== undefined) return readSeveral(url, kind)
  if (URL.canParse(url) && ONE.test(url)) return readOne(new URL(url))
  return `${NOT_A_URL} redis://host:6379, ${WITH_PERCENT}`
}

function readOne({ protocol, hostname, port, username, password, pathname }: URL): OnePlace {
  const host = { host: hostname.replace(/^\[|\]$/g, '') || '127.0.0.1', port: Number(port || 6379) }
  const login = loginOf(decoded(username), decoded(password))
  return { kind: 'one', isTls: protocol === 'rediss:', hosts: [host], login, path: pathname }
}

/** Without user, password and options; `password` stands for one that a reader must know. */
export function shownUrl({ kind, isTls, hosts, login, path }: RedisPlace, password?: string): string {
  const scheme = `redis${isTls ? 's' : ''}${kind === 'one' ? '' : `-${kind}`}`
  const user = password === undefined ? '' : `${login.username ?? ''}:${password}@`
  const list = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
  return `${scheme}://${user}${list.join()}${path}`
}

/** The beginning of a command line for a Redis or Sentinel there. */
export function redisCli({ isTls, login }: RedisPlace, { host, port }: RedisHost): string {
  return `redis-cli -h ${host} -p ${port}${isTls ? ' --tls' : ''}${login.password === undefined ? '' : ' --askpass'}`
}

function readSeveral(url: string, kind: 'sentinel' | 'cluster'): RedisPlace | string {
  const [, scheme, , username, password, list = '', path = '', query] = SEVERAL.exec(url) ?? []
  const hosts = list.split(',').map((text) => readHost(text, PORTS[kind]))
  const [user, word] = [decoded(username), decoded(password)]
  if (!hosts.every((host) => host !== undefined) || user === undefined || word === undefined) return faultLike(kind)
  const nodes = { isTls: scheme === 'rediss', hosts, login: loginOf(user, word), path }
  return kind === 'cluster' ? readCluster(nodes, query) : readSentinels(nodes, query)
}

function readCluster(nodes: RedisNodes, query: string | undefined): RedisPlace | string {
  if (query !== undefined) return faultLike('cluster')
  if (nodes.path === '' || nodes.path === '/') return { kind: 'cluster', ...nodes, path: '' }
  return 'REDIS_URL names a database, but a Redis Cluster has just one; omit what stands behind the hosts'
}

function readSentinels(nodes: RedisNodes, query: string | undefined): RedisPlace | string {
  const [, name, db = '0'] = /^\/([\w.-]+)(?:\/(\d{1,5}))?$/.exec(nodes.path) ?? []
  if (name === undefined) {
    return 'REDIS_URL has no name of a primary behind its Sentinels; set it to one like redis-sentinel://host:26379/name'
  }
  const options = new URLSearchParams(query)
  if ([...options.keys()].some((key) => !/^sentinel_(?:username|password)$/.test(key))) return faultLike('sentinel')
  const sentinelLogin = loginOf(options.get('sentinel_username'), options.get('sentinel_password'))
  return { kind: 'sentinel', ...nodes, name, db: Number(db), sentinelLogin }
}

function faultLike(kind: 'sentinel' | 'cluster'): string {
  return `${NOT_A_URL} ${EXAMPLES[kind]}, ${WITH_PERCENT}`
}

function readHost(text: string, defaultPort: number): RedisHost | undefined {
  const [isHost, ipv6, name, port] = HOST.exec(text) ?? []
  const number = Number(port ?? defaultPort)
  return isHost === undefined || number < 1 || number > 65_535 ? undefined : { host: ipv6 ?? name ?? '', port: number }
}

/** An empty text if there is none, and nothing for one with a stray %. */
function decoded(text = ''): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function loginOf(username: string | null | undefined, password: string | null | undefined): Login {
  return { ...(username ? { username } : {}), ...(password ? { password } : {}) }
}
