/** Checks a URL of PostgreSQL before the driver is loaded. No message repeats the URL, which may have a password. */
import { isIP } from 'node:net'

const PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'options', 'host']
/** The driver knows more, with meanings that have changed between its versions. */
const TLS_MODES = ['verify-full', 'no-verify', 'disable']

/** The first fault of the URL: the rest of a sentence that begins with the name of its variable. */
export function faultOfUrl(url: string): string | undefined {
  if (!URL.canParse(url)) return 'is not a URL; write postgres://user:password@host:5432/database'
  const { searchParams, hostname, pathname } = new URL(url)
  const isKnown = [...searchParams.keys()].every((name) => PARAMETERS.includes(name))
  if (!isKnown) return `has an unknown parameter; use only ${PARAMETERS.join(', ')}`
  if (!/^\/[^/]+$/.test(pathname)) return 'names no database; write postgres://user:password@host:5432/database'
  const mode = searchParams.get('sslmode')
  if (mode !== null && !TLS_MODES.includes(mode)) {
    return `has the sslmode ${JSON.stringify(mode)}; set it to one of ${TLS_MODES.join(', ')}`
  }
  if (mode !== null || isHere(searchParams.get('host') ?? hostname)) return undefined
  return 'names another host without TLS; add sslmode=verify-full, or sslmode=disable to connect without TLS'
}

/** This machine, by address, name or socket. */
export function isHere(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1')
  if (isIP(address) === 4) return address.startsWith('127.')
  return ['', 'localhost', '::1'].includes(address) || address.startsWith('/')
}

/** The URL without its password and parameters, for messages. */
export function nameOfUrl(url: string): string {
  const { username, host, pathname } = new URL(url)
  return `postgres://${username}${username && '@'}${host}${pathname}`
}
