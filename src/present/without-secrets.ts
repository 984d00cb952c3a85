/** Hides secrets that somebody has given in the place of a setting: a key, a password or a token. */
import type { Environment } from '../base/command-process.ts'

/**
 * Omits the user and the password of a URL, however it is written, the query, the text of a key, and whatever is as long
 * as a key or a token and looks like one.
 */
export function withoutSecrets(value: string): string {
  return value
    .replace(/^.*@/s, '…@')
    .replace(/(?:-----BEGIN|[{?]).*$/s, '…')
    .replace(LIKE_A_KEY, '…')
    .replace(/[\w+/=-]*…[\w+/=-]*/g, '…')
}

/** A JWT, a long word with digits, or a longer one as base64 is: in small and capital letters, digits, and no path. */
const LIKE_A_KEY =
  /\beyJ[\w.-]{9,}|(?=[\w+=]*\d)[\w+=]{24,}|(?<![\w+/=.~-])(?!\/)(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])(?=[\w+/=-]*[A-Z])[\w+/=-]{32,}/g

/** The variables that are settings. */
const SETTING =
  /^(?:(?:ADMIN|CORS|DATABASE|DATA|DECISION|JWT|KEYS|LIMIT|LOG|OIDC|POLICY|PUBLIC|REDIS|TRUST)_\w+|DECISION_LOG|HOST|INSTANCE|MIGRATIONS|POLICIES|PORT|SCHEMAS|WORKERS)$/

/** Hides, in what a command prints, the secrets in settings, also where a message quotes or cuts them. */
export function secretsHiddenOf(environment: Environment): (text: string) => string {
  const all = Object.entries(environment).flatMap(([name, value = '']) =>
    SETTING.test(name) ? beginningsIn(value) : [],
  )
  const patterns = all.map((one) => `${one.replace(/\W/g, '\\$&')}[\\w+/=.-]*`)
  const secrets = new RegExp(patterns.join('|') || '(?!)', 'g')
  return (text) => text.replace(secrets, '…')
}

/** User and password; members of a query that are named like secrets; each line of a key, also behind each `/`. */
function beginningsIn(value: string): readonly string[] {
  const named = value.match(/([^/\s]+@)|(?<=[?&][^=&]*(?:auth|code|key|pass|secret|sig|token)[^=&]*=)[^&]+/gi) ?? []
  const keys = value.includes('-----BEGIN') ? value.split(/\s|\\n/) : (value.match(LIKE_A_KEY) ?? [])
  const lines = keys.flatMap((key) => key.split(/(?<=\/)/).map((_, at, parts) => parts.slice(at).join('')))
  return [...named, ...lines.filter((line) => line.length >= 12).map((line) => line.slice(0, 12))]
}
