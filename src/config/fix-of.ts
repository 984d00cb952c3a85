/** The command that fixes an error: its own, or for a faulty setting another value of it. */
import { systemReason } from '../base/files/system-reason.ts'
import { AGAIN, againWith, fixIn } from '../base/problems/fix.ts'
import { commandHere, withCommands } from '../present/invocation.ts'
import { printable } from '../present/quote.ts'

/** By setting, a value that is right for most. `<words>` are the reader's. */
const EXAMPLES: Readonly<Record<string, string>> = {
  PORT: '3000',
  HOST: '127.0.0.1',
  PUBLIC_URL: 'https://api.example.com',
  INSTANCE: 'api-1',
  ADMIN_PORT: '9090',
  ADMIN_HOST: '127.0.0.1',
  ADMIN_TOKEN: '"$(openssl rand -hex 32)"',
  CONSOLE_PORT: '3001',
  CONSOLE_HOST: '127.0.0.1',
  CONSOLE_OPENID_CLIENT: '<client id>',
  CONSOLE_OPENID_SCOPE: "'openid offline_access'",
  CONSOLE_OPENID_PARAMETERS: 'none',
  WORKERS: '1',
  DATABASE_POOL: '10',
  DATABASE_POOLER: 'none',
  POLICY_PUBLIC_KEYS: '<file>',
  POLICY_SIGNING_KEY: '<file>',
  POLICY_DATABASE: '<id>',
  POLICY_KNOWN: '<number>:<digest>',
  POLICY_MAX_AGE: '5m',
  REDIS_URL: 'redis://127.0.0.1:6379',
  LIMIT_INSTANCES: '1',
  TRUST_PROXY: '127.0.0.1',
  KEYS_SECRET: "'<the value that encrypted the keys>'",
  JWT_JWKS_URL: 'https://<issuer>/.well-known/jwks.json',
  JWT_PUBLIC_KEY: '<file>',
  JWT_ISSUER: 'sallyport',
  JWT_AUDIENCE: 'sallyport',
  JWT_ALGORITHMS: 'EdDSA',
  OIDC_ISSUER: 'https://<issuer>',
  OIDC_AUDIENCE: '<audience>',
  OIDC_ROLES_CLAIM: 'roles',
  OIDC_SUBJECT_CLAIM: 'sub',
  OIDC_ALGORITHMS: 'RS256',
  OIDC_SUBJECT_PREFIX: 'oidc:',
  DECISION_LOG: 'best-effort',
  DECISION_LOG_MAX: '100mb',
  DECISION_LOG_KEEP: '10',
  CORS_ORIGINS: 'https://app.example.com',
  CORS_MAX_AGE: '600',
  LOG_LEVEL: 'info',
}

const OF_SETTINGS: ReadonlySet<string> = new Set(['ConfigError', 'KeyError'])

export function fixOf(error: unknown): string | undefined {
  return fixIn(error) ?? fixOfSetting(error)
}

/** What is wrong, and the command that fixes it. `words`: of the command line that failed. */
export function failureText(error: Error, words: readonly string[]): string {
  const { name } = error
  const message = withCommands(sentenceOf(error))
  const fix = fixOf(error)
  const command = fix === undefined ? '' : `run \`${commandHere(fix, words)}\``
  // Faults of files have a line each; a line end in another message belongs to a value, and could look like a message.
  if (name === 'FileError') return `${message}${command && '\n'}${command}`
  return `${printable(message)}${command && ': '}${command}`
}

/** An error of the system that nobody has caught says what it knows in words, without the names of its calls. */
function sentenceOf({ message, code, path, syscall }: NodeJS.ErrnoException): string {
  if (syscall === undefined) return message
  if (path === undefined) return message.replace(/^E[A-Z0-9]+: /, '')
  return `${path} can't be used: ${systemReason(code)}`
}

/** The sentence about a setting begins with its name (test/config.test.ts). */
function fixOfSetting(error: unknown): string | undefined {
  const { name, message } = error as Error
  if (!OF_SETTINGS.has(name)) return undefined
  const [, flag, setting = ''] = /^(--)?([A-Za-z_]+) /.exec(message) ?? []
  const named = flag === undefined ? setting : setting.toUpperCase()
  const example = EXAMPLES[named]
  if (example !== undefined) return againWith(named, example)
  return /^[A-Z]+_[A-Z_]+$/.test(named) ? `env -u ${named} ${AGAIN}` : undefined
}
