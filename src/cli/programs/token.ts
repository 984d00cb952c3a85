/** sallyport token */
import type { Command } from 'commander'
import { ConfigError, readConfig } from '../../config.ts'
import { tell } from '../../present/print.ts'
import { printable } from '../../present/quote.ts'
import { undeclaredRoles } from '../../tools/undeclared-roles.ts'
import { type TokenRequest, tokenCommand } from '../token-command.ts'
import { sign } from './sign.ts'

export function program(): Command {
  return tokenCommand(printToken)
}

async function printToken(request: TokenRequest): Promise<string> {
  const config = readConfig(process.env)
  if (config.tokens.keys.kind !== 'embedded') {
    throw new ConfigError(
      'tokens come from the key of JWT_JWKS_URL or JWT_PUBLIC_KEY; unset it to use the embedded key',
    )
  }
  for (const { role, meant } of await undeclaredRoles(config.policies, request.roles)) {
    const told = `roles.yaml of ${config.policies} declares no role \`${role}\`, so it grants nothing${meant}`
    tell(`sallyport: ${printable(told)}\n`)
  }
  return sign(config, request)
}
