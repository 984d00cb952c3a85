/** One value of a setting, checked: a wrong one is a ConfigError that names the variable and what to set it to. */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import bytes from 'bytes'
import ipaddr from 'ipaddr.js'
import { systemReason } from '../base/files/system-reason.ts'
import { isIpAddress } from '../base/ip-address.ts'
import { withoutSecrets } from '../present/without-secrets.ts'

/**
 * Its message is one sentence: the variable, the wrong value, and what to set it to. `fix`: the command for it
 * (src/base/problems/fix.ts).
 */
export class ConfigError extends Error {
  readonly fix: string | undefined
  constructor(message: string, fix?: string) {
    super(message)
    this.name = 'ConfigError'
    this.fix = fix
  }
}

export function port(name: string, value: string): number {
  return wholeNumber(name, value, { min: 0, max: 65_535 })
}

export function wholeNumber(name: string, value: string, { min, max }: { min: number; max: number }): number {
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
  if (number >= min && number <= max) return number
  throw new ConfigError(`${name} is ${quote(value)}; set it to a whole number from ${min} to ${max}`)
}

export function host(name: string, value: string): string {
  if (isIP(value) || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(value)) return value
  throw new ConfigError(`${name} is ${quote(value)}; set it to an address or a host name`)
}

/** Smaller files than this would be renamed all the time. */
const LEAST_BYTES = 64 * 1024

export function size(name: string, value: string): number {
  const number = /^\d+(\.\d+)? ?(b|kb|mb|gb)?$/i.test(value) ? (bytes.parse(value) ?? 0) : 0
  if (number >= LEAST_BYTES) return number
  throw new ConfigError(`${name} is ${quote(value)}; set it to a size of at least 64kb, like 100mb`)
}

export function cidr(value: string): string {
  if (/\/0+$/.test(value)) {
    throw new ConfigError(`TRUST_PROXY has ${quote(value)}, which trusts every client; list only your proxies`)
  }
  const [address = '', bits] = value.split('/')
  if (isIpAddress(address) && (bits === undefined || (/^[1-9]\d*$/.test(bits) && ipaddr.isValidCIDR(value))))
    return value
  throw new ConfigError(`TRUST_PROXY has ${quote(value)}; list addresses or CIDRs, separated by commas`)
}

/** Browsers send an origin in one form, so another form would never fit (RFC 6454 section 6.2). `null` is anybody. */
export function origins(values: readonly string[]): readonly string[] {
  if (values.length > 1 && values.includes('*')) {
    throw new ConfigError('CORS_ORIGINS has * beside other origins; write * alone to allow every page, or remove it')
  }
  const wrong = values.find((value) => value !== '*' && !isOrigin(value))
  if (wrong === undefined) return Object.freeze(values)
  throw new ConfigError(
    `CORS_ORIGINS has ${quote(wrong)}; list origins like https://app.example.com, separated by commas`,
  )
}

export function publicUrl(value: string | undefined): string | undefined {
  if (value === undefined || isOrigin(value)) return value
  throw new ConfigError(`PUBLIC_URL is ${quote(value)}; set it to an origin like https://api.example.com`)
}

function isOrigin(value: string): boolean {
  // A pattern would look as if it fitted.
  return /^https?:[^*]+$/.test(value) && URL.canParse(value) && new URL(value).origin === value
}

export function oneOf<T extends string>(name: string, value: string, accepted: readonly T[]): T {
  const found = accepted.find((one) => one === value)
  if (found !== undefined) return found
  throw new ConfigError(`${name} is ${quote(value)}; set it to one of ${accepted.join(', ')}`)
}

export function list(value: string | undefined): readonly string[] {
  return (value ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** Headers as OTEL_EXPORTER_OTLP_HEADERS has them (W3C baggage): `name=value`. */
export const HEADER_PAIR = /^[\w!#$%&'*+.^`|~-]+=[\t\x20-\x3a\x3c-\x7e]+$/

/** `name=value,name=value` with %2C for a comma, decoded. A value may be a password, so no message repeats one. */
export function pairs(name: string, value: string, form: RegExp): readonly (readonly [name: string, value: string])[] {
  return list(value).map((pair, at) => {
    const end = pair.indexOf('=')
    const decoded = form.test(pair) ? decodedText(pair.slice(end + 1)) : undefined
    if (decoded !== undefined) return [pair.slice(0, end), decoded]
    const fault = `${name} has a faulty pair at place ${at + 1}`
    throw new ConfigError(`${fault}; write name=value, separated by commas, and %2C for a comma in a value`)
  })
}

function decodedText(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The text of a file that a setting names. */
export function fileText(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const reason = systemReason((error as NodeJS.ErrnoException).code)
    throw new ConfigError(`${name} is ${quote(file)}, which can't be read (${reason}); name a PEM file`)
  }
}

/** Messages are logged. */
export function quote(value: string): string {
  return JSON.stringify(withoutSecrets(value))
}
