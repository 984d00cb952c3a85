/** Composes who is asking: verified tokens and API keys, and what the store knows of their callers. */
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { looksLikeApiKey } from '../identity/api-key.ts'
import { createApiKeyUses } from '../identity/api-key-uses.ts'
import type { TokenVerifier } from '../identity/caller.ts'
import { openEmbeddedKey } from '../identity/embedded-key.ts'
import { onceKnown } from '../identity/once-known.ts'
import { rememberTokens } from '../identity/remembered-tokens.ts'
import { createStanding } from '../identity/standing.ts'
import { createTokenVerifier } from '../identity/token-verifier.ts'
import type { KeySource } from '../identity/verification-keys.ts'
import { createApiKeyVerifier } from '../identity/verify-api-key.ts'
import type { Directory } from '../store/directory.ts'

interface IdentityOptions {
  readonly config: Config
  readonly directory: Directory
  readonly now: () => Date
  readonly log: Logger
  /** In place of the one that the configuration names. */
  readonly tokens?: TokenVerifier | undefined
}

interface Identity {
  readonly verifier: TokenVerifier
  readonly close: () => Promise<void>
}

/** Throws KeyError. */
export async function openIdentity({ config, directory, now, log, tokens }: IdentityOptions): Promise<Identity> {
  const verifier = tokens ?? (await openTokens(config))
  const time = () => now().getTime()
  const standing = createStanding(directory, time)
  const uses = createApiKeyUses(directory, (error) => log.warn({ err: error }, 'last uses of API keys wait to be kept'))
  const keys = createApiKeyVerifier({ directory, now: time, used: uses.note })
  return {
    verifier: {
      verify: (credential) =>
        looksLikeApiKey(credential) ? keys.verify(credential) : onceKnown(verifier.verify(credential), standing),
    },
    close: uses.close,
  }
}

async function openTokens(config: Config): Promise<TokenVerifier> {
  const { issuer, audience, algorithms } = config.tokens
  const keys = await keySourceOf(config)
  return rememberTokens(createTokenVerifier({ keys, issuer, audience, algorithms }))
}

async function keySourceOf({ tokens: { keys }, dataDirectory }: Config): Promise<KeySource> {
  switch (keys.kind) {
    case 'embedded':
      return { kind: 'embedded', key: await openEmbeddedKey(dataDirectory) }
    case 'public-key':
      return { kind: 'public-key', text: keys.pem }
    case 'jwks':
      return keys
  }
}
