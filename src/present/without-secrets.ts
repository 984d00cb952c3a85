/** Hides secrets that somebody has given in the place of a setting: a key, a password or a token. */
import type { Environment } from '../base/command-process.ts'

/** Up to the first `://`, user and password up to the last `@`, hosts with their ports, and the rest. */
const URL_PARTS = /^(?<before>.*?):\/\/(?<login>.*@)?(?<hosts>[^/?#]*)(?<path>[^?#]*)(?<query>.*)$/s

/**
 * Omits the user and the password of a URL, however it is written, the query, the text of a key, and whatever is as long
 * as a key or a token and looks like one. Hosts and ports of a URL stay.
 */
export function withoutSecrets(value: string): string {
  const url = /-----BEGIN|\{/.test(value) ? undefined : URL_PARTS.exec(value)?.groups
  if (!url) return withoutLikeness(value.replace(/^.*@/s, '…@').replace(/(?:-----BEGIN|[{?]).*$/s, '…'))
  const { before = '', login = '', hosts = '', path = '', query = '' } = url
  // Either a password or a query has this `@`, so what follows it may be a part of a secret.
  if (/[?#]/.test(login)) return '…'
  const start = login === '' ? `${withoutLikeness(before)}://` : '…@'
  return `${start}${withoutLikeness(hosts)}${path && '/'}${withoutLikeness(path.slice(1))}${query && `${query[0]}…`}`
}

/** Omits what looks like a key or a token, with all that stands next to it, or next to what is omitted already. */
function withoutLikeness(text: string): string {
  return text.replace(LIKE_A_KEY, '…').replace(/[\w+/=-]*…[\w+/=-]*/g, '…')
}

/** Omits what looks like a key or a token: somebody may have pasted one in the place of its id. */
export function withoutKeys(value: string): string {
  return value.replace(/(?:-----BEGIN|\{").*$/s, '…').replace(LIKE_A_KEY, '…')
}

/** A JWT, a long word with digits, or a longer one as base64 is: in small and capital letters, digits, and no path. */
const LIKE_A_KEY =
  /\beyJ[\w.-]{9,}|(?=[\w+=]*\d)[\w+=]{24,}|(?<![\w+/=.~-])(?!\/)(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])(?=[\w+/=-]*[A-Z])[\w+/=-]{32,}/g

/** The variables that are settings. */
const SETTING =
  /^(?:(?:ADMIN|CONSOLE|CORS|DATABASE|DATA|DECISION|JWT|KEYS|LIMIT|LOG|OIDC|OTEL|POLICY|PUBLIC|REDIS|TRUST|WEBHOOK)_\w+|DECISION_LOG|HOST|INSTANCE|MIGRATIONS|POLICIES|PORT|SCHEMAS|WORKERS)$/

/** Their values are keys, or may hold some. */
const SECRET_SETTING = /_(?:ATTRIBUTES|HEADERS|KEYS?|PARAMETERS|SECRET|SECRET_OLD|TOKEN)$/
const LONGEST_SHOWN = 256

/** The settings that are set, without secrets. */
export function shownSettings(environment: Environment): Readonly<Record<string, string>> {
  const set = Object.entries(environment).flatMap(([name, value]) => {
    if (!value || !SETTING.test(name)) return []
    return [[name, SECRET_SETTING.test(name) ? '…' : withoutSecrets(value).slice(0, LONGEST_SHOWN)] as const]
  })
  return Object.freeze(Object.fromEntries(set.sort(([a], [b]) => (a < b ? -1 : 1))))
}

/** Hides, in what a command prints, the secrets in settings, also where a message quotes or cuts them. */
export function secretsHiddenOf(environment: Environment): (text: string) => string {
  const settings = Object.entries(environment).filter(([name]) => SETTING.test(name))
  const patterns = settings.flatMap(([, value = '']) => beginningsIn(value)).map((one) => one.replace(/\W/g, '\\$&'))
  const secrets = new RegExp(patterns.length > 0 ? `(?:${patterns.join('|')})[\\w+/=.-]*` : '(?!)', 'g')
  return (text) => text.replace(secrets, '…')
}

/**
 * User and password, but no user alone, which could begin an e-mail address; members of a query that are named like
 * secrets, but no short ones, which could stand in the middle of words; each line of a key, also behind each `/`.
 */
function beginningsIn(value: string): readonly string[] {
  const named =
    value.match(/[^/\s:]*:[^/\s]+@|(?<=[?&][^=&]*(?:auth|code|key|pass|secret|sig|token)[^=&]*=)[^&]{8,}/gi) ?? []
  const keys = value.includes('-----BEGIN') ? value.split(/\s|\\n/) : (value.match(LIKE_A_KEY) ?? [])
  const lines = keys.flatMap((key) => key.split(/(?<=\/)/).map((_, at, parts) => parts.slice(at).join('')))
  return [...named, ...lines.filter((line) => line.length >= 12).map((line) => line.slice(0, 12))]
}
