/** DECISION_LOG_SEND…: the system that gets a copy of each record. */
import { createSecureContext } from 'node:tls'
import type { Environment } from '../base/command-process.ts'
import { againWith } from '../base/problems/fix.ts'
import type { SendPlace, TlsFiles } from '../decision-log/send/record-receiver.ts'
import { ConfigError, fileText, HEADER_PAIR, pairs } from './values.ts'

const SEND_NAMES = ['DECISION_LOG_SEND', 'DECISION_LOG_SEND_HEADERS'].concat(
  ['CA', 'CERT', 'KEY'].map((name) => `DECISION_LOG_SEND_${name}`),
)

const FORMS = 'https://host/path, otlp+https://host:4318 or syslog+tls://host:6514'
const PLACE = /^(?:(?<otlp>otlp)\+)?(?<http>https?):\/\/|^syslog\+(?<tls>tls):\/\//

/** RFC 5425, section 4.1. */
const SYSLOG_PORT = '6514'
/** Of OTLP/HTTP, for logs: it follows the address of the collector. */
const OTLP_PATH = 'v1/logs'

/** Undefined without DECISION_LOG_SEND. Throws ConfigError. */
export function readSendPlace(environment: Environment): SendPlace | undefined {
  const env = (name: string) => environment[name] || undefined
  const text = env('DECISION_LOG_SEND')
  const unused = SEND_NAMES.find((name) => env(name) !== undefined)
  if (text === undefined) {
    if (unused === undefined) return undefined
    throw new ConfigError(`${unused} is set without DECISION_LOG_SEND; set DECISION_LOG_SEND, or unset ${unused}`)
  }
  if (env('DECISION_LOG_FILE') === '-') {
    throw new ConfigError(
      'DECISION_LOG_SEND needs a log in a file, and DECISION_LOG_FILE is -; unset one of them: a collector can read standard output',
    )
  }
  const { kind, url } = readPlace(text)
  const headers = readHeaders(env('DECISION_LOG_SEND_HEADERS'))
  if (kind === 'syslog' && Object.keys(headers).length > 0) {
    throw new ConfigError('DECISION_LOG_SEND_HEADERS is set, but syslog has no headers; unset it')
  }
  const tls = readTls(env)
  if (url.protocol === 'http:' && Object.keys(tls).length > 0) {
    throw new ConfigError('DECISION_LOG_SEND has no TLS, but a file for TLS is set; write https, or unset the file')
  }
  return Object.freeze({ kind, url, headers, tls })
}

function readPlace(text: string): Pick<SendPlace, 'kind' | 'url'> {
  const { otlp, http, tls } = PLACE.exec(text)?.groups ?? {}
  const address = text.replace(PLACE, `${http ?? 'https'}://`)
  if (!(http ?? tls) || !URL.canParse(address)) throw wrong(`is no address; set it to one like ${FORMS}`)
  const url = new URL(address)
  if (url.username !== '' || url.password !== '') {
    throw wrong('has a user or a password; write credentials into DECISION_LOG_SEND_HEADERS')
  }
  if (url.hash !== '') throw wrong('has a part behind #, which nobody would send; omit it')
  if (tls !== undefined) return { kind: 'syslog', url: syslogUrl(url) }
  if (otlp === undefined) return { kind: 'lines', url }
  if (!url.pathname.endsWith(`/${OTLP_PATH}`)) url.pathname = `${url.pathname.replace(/\/$/, '')}/${OTLP_PATH}`
  return { kind: 'otlp', url }
}

function syslogUrl(url: URL): URL {
  if (url.pathname !== '/' || url.search !== '') throw wrong('has a path, but syslog has none; omit it')
  // The default port of https is 443, and `URL` leaves it out.
  return new URL(`tls://${url.hostname}:${url.port || SYSLOG_PORT}`)
}

function wrong(why: string): ConfigError {
  return new ConfigError(`DECISION_LOG_SEND ${why}`, againWith('DECISION_LOG_SEND', "'https://<host>/<path>'"))
}

function readHeaders(text: string | undefined): Readonly<Record<string, string>> {
  const name = 'DECISION_LOG_SEND_HEADERS'
  const headers = pairs(name, text ?? '', HEADER_PAIR).map(([one, value]) => [one.toLowerCase(), value] as const)
  const own = headers.find(([one, value]) => OWN_HEADERS.has(one) || /[\r\n\0]/.test(value))
  if (own) throw new ConfigError(`${name} has a header that no setting can have (${own[0]}); omit it`)
  return Object.freeze(Object.fromEntries(headers))
}

const OWN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'content-length', 'host', 'transfer-encoding'])

function readTls(env: (name: string) => string | undefined): TlsFiles {
  const read = (name: 'CA' | 'CERT' | 'KEY') => {
    const file = env(`DECISION_LOG_SEND_${name}`)
    return file === undefined ? {} : { [name.toLowerCase()]: fileText(`DECISION_LOG_SEND_${name}`, file) }
  }
  const tls: TlsFiles = { ...read('CA'), ...read('CERT'), ...read('KEY') }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw new ConfigError('DECISION_LOG_SEND_CERT and DECISION_LOG_SEND_KEY belong together; set both, or neither')
  }
  try {
    createSecureContext(tls)
  } catch {
    throw new ConfigError(
      'DECISION_LOG_SEND_CA, DECISION_LOG_SEND_CERT and DECISION_LOG_SEND_KEY must be PEM files that fit together; name others',
    )
  }
  return Object.freeze(tls)
}
