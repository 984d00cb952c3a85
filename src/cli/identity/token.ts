/** sallyport token: makes a token, signed with the embedded key. */
import { environment } from '../../base/command-process.ts'
import { type Config, readConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/values.ts'
import type { KeyPlaceSettings } from '../../identity/keys/embedded/open-keys.ts'
import { printResult, tell } from '../../present/print.ts'
import { printable } from '../../present/quote.ts'
import { CliCommand, lifetime, type TextOrJson } from '../options.ts'

interface Flags {
  readonly subject: string
  readonly role: readonly string[]
  /** Milliseconds. */
  readonly expires: number
  readonly format: TextOrJson
}

const AN_HOUR_MS = 3_600_000

export function tokenCommand(): CliCommand {
  return new CliCommand('token')
    .description('print a token signed by the embedded key')
    .requiredOption('--subject <id>', 'the caller that uses the token')
    .option('--role <role...>', 'a role that the token claims; repeat for more', [])
    .option('--expires <duration>', 'how long the token is valid: 10m, 12h, 30d (1h)', lifetime, AN_HOUR_MS)
    .formats()
    .examples('token --subject alice --role member --expires 12h')
    .action(async ({ subject, role, expires, format }: Flags) => {
      const config = readConfig(environment())
      const { dataDirectory, database, tokens } = config
      if (tokens.keys.kind !== 'embedded') {
        throw new ConfigError(
          'the server accepts only tokens of JWT_JWKS_URL or JWT_PUBLIC_KEY: unset it to use the embedded key',
        )
      }
      await tellUndeclared(config, role)
      const settings = { dataDirectory, database, secrets: tokens.keys.secrets }
      const token = await sign(settings, config, { subject, roles: role, lifetimeSeconds: expires / 1000 })
      printResult(format, { token, subject, roles: role, lifetimeSeconds: expires / 1000 }, `${token}\n`)
    })
}

async function tellUndeclared({ policies }: Config, roles: readonly string[]): Promise<void> {
  const { undeclaredRoles } = await import('./undeclared-roles.ts')
  for (const { role, meant } of await undeclaredRoles(policies, roles)) {
    const told = `roles.yaml of ${policies} declares no role \`${role}\`, so it grants nothing${meant}`
    tell(`sallyport: ${printable(told)}\n`)
  }
}

interface TokenRequest {
  readonly subject: string
  readonly roles: readonly string[]
  readonly lifetimeSeconds: number
}

/** The key remains valid for longer than the token, even if it is rotated. */
async function sign(settings: KeyPlaceSettings, { tokens }: Config, request: TokenRequest): Promise<string> {
  const { openKeyPlace, withKeyPlace } = await import('../../identity/keys/embedded/open-keys.ts')
  const { refuseUnusedFolder } = await import('../../identity/keys/embedded/place-in-use.ts')
  const { issueToken } = await import('../../identity/tokens/issue-token.ts')
  await refuseUnusedFolder(settings)
  return withKeyPlace(
    () => openKeyPlace(settings),
    async (place) => {
      await place.makeFirstKey()
      const { current } = await place.read()
      await place.noteToken(current, request.lifetimeSeconds * 1000)
      return issueToken(current.key, { ...request, issuer: tokens.issuer, audience: tokens.audience })
    },
  )
}
