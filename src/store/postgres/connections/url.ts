/**
 * Reads a URL of PostgreSQL before the driver is loaded. It may name several hosts, as libpq's does; the driver then gets
 * a URL for each host. No message repeats the URL, which may have a password.
 */
import { isIP } from 'node:net'

const FORM = 'write postgres://user:password@host:5432/database'
const TARGET = 'target_session_attrs'
const PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'options', 'host', TARGET]
/** The driver knows more, with meanings that have changed between its versions. */
const TLS_MODES = ['verify-full', 'no-verify', 'disable']

/** Which hosts are taken: libpq has more values, for programs that only read. */
export type SessionTarget = 'read-write' | 'primary' | 'any'

const TARGETS: readonly SessionTarget[] = ['read-write', 'primary', 'any']

export interface PostgresUrl {
  /** With one host each, and without `target_session_attrs`. */
  readonly each: readonly string[]
  readonly target: SessionTarget
}

/** Scheme, user and password, hosts, and the rest; the last `@` before the path ends the password, as in any URL. */
const PARTS = /^(?<scheme>[a-z]+:\/\/)(?<login>[^/?#]*@)?(?<hosts>[^/?#]*)(?<rest>.*)$/s

/** Without checks: of a text that is no URL, `each` has no URL either. */
export function readPostgresUrl(url: string): PostgresUrl {
  const { scheme = '', login = '', hosts = '', rest = '' } = PARTS.exec(url)?.groups ?? {}
  const target = TARGETS.find((one) => one === URL.parse(`a:${rest}`)?.searchParams.get(TARGET)) ?? 'any'
  const others = rest.replace(/(?<=[?&])target_session_attrs=[^&#]*&?/g, '').replace(/[?&]$/, '')
  const each = scheme === '' ? [url] : hosts.split(',').map((host) => `${scheme}${login}${host}${others}`)
  return { each, target }
}

/** The first fault of the URL: the rest of a sentence that begins with the name of its variable. */
export function faultOfUrl(url: string): string | undefined {
  const { each } = readPostgresUrl(url)
  const { hosts = '', rest = '' } = PARTS.exec(url)?.groups ?? {}
  if (/(?:^|,)(?::\d*)?,|,(?::\d*)?$/.test(hosts)) {
    return 'has an empty name among its hosts; write them as host:5432,host:5432'
  }
  if (!each.every((one) => URL.canParse(one))) return `is not a URL; ${FORM}`
  const urls = each.map((one) => new URL(one))
  const { searchParams } = new URL(`a:${rest}`)
  return faultOfTarget(searchParams, urls.length) ?? faultOfParts(searchParams, urls)
}

function faultOfTarget(parameters: URLSearchParams, hosts: number): string | undefined {
  const target = parameters.get(TARGET)
  if (target !== null && !TARGETS.some((one) => one === target)) {
    return `has the ${TARGET} ${JSON.stringify(target)}; set it to one of ${TARGETS.join(', ')}`
  }
  if (hosts > 1 && parameters.has('host')) return 'has several hosts and the parameter host; leave one of them out'
  if (parameters.get('host')?.includes(','))
    return 'has several hosts in the parameter host; write them before the path'
  if (hosts === 1 || target !== null) return undefined
  return `has several hosts; add ${TARGET}=read-write, or ${TARGET}=any for hosts that all take writes`
}

function faultOfParts(parameters: URLSearchParams, urls: readonly URL[]): string | undefined {
  const isKnown = [...parameters.keys()].every((name) => PARAMETERS.includes(name))
  if (!isKnown) return `has an unknown parameter; use only ${PARAMETERS.join(', ')}`
  if (!urls.every(({ pathname }) => /^\/[^/]+$/.test(pathname))) return `names no database; ${FORM}`
  const mode = parameters.get('sslmode')
  if (mode !== null && !TLS_MODES.includes(mode)) {
    return `has the sslmode ${JSON.stringify(mode)}; set it to one of ${TLS_MODES.join(', ')}`
  }
  if (mode !== null || urls.every(({ hostname }) => isHere(parameters.get('host') ?? hostname))) return undefined
  return 'names another host without TLS; add sslmode=verify-full, or sslmode=disable to connect without TLS'
}

/**
 * The URL as it was written, with the parameters that it lacks; `<password>` stands for its password. Undefined if that
 * doesn't make it right.
 */
export function completedUrl(url: string): string | undefined {
  const { scheme = '', login = '', hosts = '', rest = '' } = PARTS.exec(url)?.groups ?? {}
  const { searchParams } = new URL(`a:${rest}`)
  const { each } = readPostgresUrl(url)
  const isRemote = !each.every((one) => isHere(searchParams.get('host') ?? URL.parse(one)?.hostname ?? ''))
  const lacking = [
    ...(isRemote && !searchParams.has('sslmode') ? ['sslmode=verify-full'] : []),
    ...(hosts.includes(',') && !searchParams.has(TARGET) ? [`${TARGET}=read-write`] : []),
  ]
  const whole = `${scheme}${login.replace(/:.*@$/s, ':<password>@')}${hosts}${rest}`
  const completed = `${whole}${rest.includes('?') ? '&' : '?'}${lacking.join('&')}`
  // After the hosts, an `@` may end a password that has a `/`.
  return rest.includes('@') || faultOfUrl(completed) !== undefined ? undefined : completed
}

/** This machine, by address, name or socket. */
export function isHere(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1')
  if (isIP(address) === 4) return address.startsWith('127.')
  return ['', 'localhost', '::1'].includes(address) || address.startsWith('/')
}

/** The URL without its password and parameters, for messages. */
export function nameOfUrl(url: string): string {
  const urls = readPostgresUrl(url).each.map((one) => new URL(one))
  const [{ username, pathname } = new URL(url)] = urls
  return `postgres://${username}${username && '@'}${urls.map(({ host }) => host).join()}${pathname}`
}

export function hasPassword(url: string): boolean {
  return readPostgresUrl(url).each.some((one) => new URL(one).password !== '')
}
