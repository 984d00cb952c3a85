/** CONSOLE_*: where the console is, and the OpenID provider at which people sign in there. */
import { againWith } from '../base/problems/fix.ts'
import type { OpenIdSettings } from '../identity/tokens/openid-settings.ts'
import { ConfigError, host, port, quote } from './values.ts'

export interface ConsolePlace {
  readonly host: string
  readonly port: number
  /** CONSOLE_PORT is set, so a start without the console is refused. */
  readonly isNamed: boolean
  readonly openId: ConsoleOpenId | undefined
}

/** What a browser needs to ask the provider; nothing of it is secret. */
export interface ConsoleOpenId {
  readonly issuer: string
  /** The provider's name of the console: a public client, which has no secret. */
  readonly client: string
  readonly scope: string
  /** Further parameters of its requests. */
  readonly parameters: readonly (readonly [name: string, value: string])[]
}

interface OtherSettings {
  readonly demo: boolean
  readonly ownPort: number
  readonly adminPort: number
  readonly openId: OpenIdSettings | undefined
}

type ReadSetting = (name: string) => string | undefined

/** Undefined without a console; the demo has one, at the port after its own. Throws ConfigError. */
export function readConsolePlace(
  env: ReadSetting,
  { demo, ownPort, adminPort, openId: provider }: OtherSettings,
): ConsolePlace | undefined {
  const named = host('CONSOLE_HOST', env('CONSOLE_HOST') ?? '127.0.0.1')
  const openId = readOpenId(env, provider)
  const set = env('CONSOLE_PORT')
  if (set === undefined && !demo && openId) {
    throw new ConfigError(
      'CONSOLE_OPENID_CLIENT is set without CONSOLE_PORT; set CONSOLE_PORT to the port of the console',
      againWith('CONSOLE_PORT', '3001'),
    )
  }
  const value = set ?? (demo ? String(portAfter(ownPort, adminPort)) : 'off')
  if (value === 'off') return undefined
  return Object.freeze({ host: named, port: port('CONSOLE_PORT', value), isNamed: set !== undefined, openId })
}

/** The next one that this program doesn't use itself; 0 is any free port. */
function portAfter(ownPort: number, adminPort: number): number {
  const next = ownPort + (adminPort === ownPort + 1 ? 2 : 1)
  return ownPort === 0 || next > 65_535 ? 0 : next
}

/** Written by the console itself: of the requests of RFC 6749 (4.1), RFC 7636 (4.3) and OpenID Connect Core 1.0 (3.1.2). */
const OWN = [
  'client_id',
  'client_secret',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code',
  'code_challenge',
  'code_challenge_method',
  'code_verifier',
  'grant_type',
  'request',
  'request_uri',
]

function readOpenId(env: ReadSetting, provider: OpenIdSettings | undefined): ConsoleOpenId | undefined {
  const client = env('CONSOLE_OPENID_CLIENT')
  const [scope, parameters] = [env('CONSOLE_OPENID_SCOPE'), env('CONSOLE_OPENID_PARAMETERS')]
  if (client === undefined) {
    if (scope === undefined && parameters === undefined) return undefined
    const name = scope === undefined ? 'CONSOLE_OPENID_PARAMETERS' : 'CONSOLE_OPENID_SCOPE'
    throw new ConfigError(
      `${name} is set without CONSOLE_OPENID_CLIENT; set it to the id of the client, or unset ${name}`,
      againWith('CONSOLE_OPENID_CLIENT', '<client id>'),
    )
  }
  if (!provider) {
    throw new ConfigError(
      'CONSOLE_OPENID_CLIENT is set without OIDC_ISSUER; set OIDC_ISSUER to the provider, or unset CONSOLE_OPENID_CLIENT',
      againWith('OIDC_ISSUER', 'https://<issuer>'),
    )
  }
  if (new URL(provider.issuer).hostname.startsWith('[')) {
    throw new ConfigError(
      'OIDC_ISSUER has an IPv6 address, which no Content-Security-Policy can name; unset CONSOLE_OPENID_CLIENT',
    )
  }
  if (scope !== undefined && !scope.split(' ').includes('openid')) {
    throw new ConfigError(`CONSOLE_OPENID_SCOPE is ${quote(scope)}; set it to names with openid among them`)
  }
  return Object.freeze({
    issuer: provider.issuer,
    client,
    scope: scope ?? 'openid',
    parameters: readParameters(parameters, provider.audience),
  })
}

/** "none" for a provider that refuses `resource` (RFC 8707), which others need to write a token for this API. */
function readParameters(text: string | undefined, audience: string): ConsoleOpenId['parameters'] {
  if (text === undefined) return [['resource', audience]]
  if (text === 'none') return []
  const read = [...new URLSearchParams(text)]
  const own = read.find(([name]) => OWN.includes(name))
  if (own) {
    throw new ConfigError(
      `CONSOLE_OPENID_PARAMETERS has ${own[0]}, which the console sets; set it to others, like audience=<audience>`,
    )
  }
  return read
}
