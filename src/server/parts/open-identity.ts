/** Puts together the verifiers of tokens and API keys, with the check of their callers in the store. */
import type { Logger } from 'pino'
import { onceKnown } from '../../base/now-or-later.ts'
import type { Config } from '../../config.ts'
import type { TokenVerifier } from '../../identity/caller.ts'
import { looksLikeApiKey } from '../../identity/directory/api-key.ts'
import { createStanding } from '../../identity/directory/standing.ts'
import { createApiKeyUses, createApiKeyVerifier } from '../../identity/directory/verify-api-key.ts'
import { type KeyRing, openKeyRing } from '../../identity/keys/key-ring.ts'
import type { KeySource } from '../../identity/keys/verification-keys.ts'
import { rememberTokens, verifyByIssuer } from '../../identity/tokens/remembered-tokens.ts'
import { createTokenVerifier } from '../../identity/tokens/token-verifier.ts'
import type { Directory } from '../../store/directory.ts'

interface IdentityOptions {
  readonly config: Config
  readonly directory: Directory
  readonly now: () => Date
  readonly log: Logger
  /** Replaces the verifier that the configuration names. */
  readonly tokens?: TokenVerifier | undefined
}

interface Identity {
  readonly verifier: TokenVerifier
  /** Undefined if this server issues no tokens. */
  readonly keys: KeyRing | undefined
  readonly close: () => Promise<void>
}

/** Throws KeyError. */
export async function openIdentity({ config, directory, now, log, tokens }: IdentityOptions): Promise<Identity> {
  const ring = config.tokens.keys.kind === 'embedded' ? await openRing(config, log) : undefined
  const verifier = tokens ?? openTokens(config, ring)
  const time = () => now().getTime()
  const standing = createStanding(directory, time)
  const uses = createApiKeyUses(directory, (error) =>
    log.warn({ err: error }, 'the last uses of API keys could not be stored; they are stored later'),
  )
  const keys = createApiKeyVerifier({ directory, now: time, used: uses.note })
  return {
    verifier: {
      knows: (credential) => (looksLikeApiKey(credential) ? keys : verifier).knows?.(credential) ?? false,
      verify: (credential) =>
        looksLikeApiKey(credential) ? keys.verify(credential) : onceKnown(verifier.verify(credential), standing),
    },
    keys: ring,
    close: async () => {
      ring?.close()
      await uses.close()
    },
  }
}

function openRing({ dataDirectory }: Config, log: Logger): Promise<KeyRing> {
  return openKeyRing(dataDirectory, (error) => {
    log.error({ err: error }, "the signing keys can't be read; the previous keys stay in use")
  })
}

function openTokens(config: Config, ring: KeyRing | undefined): TokenVerifier {
  const { issuer, audience, algorithms } = config.tokens
  const own = rememberTokens(createTokenVerifier({ keys: keySourceOf(config, ring), issuer, audience, algorithms }))
  const { openId } = config
  if (!openId) return own
  const keys = { kind: 'openid', issuer: openId.issuer } as const
  const provider = rememberTokens(createTokenVerifier({ ...openId, keys }))
  return verifyByIssuer(
    new Map([
      [issuer, own],
      [openId.issuer, provider],
    ]),
  )
}

function keySourceOf({ tokens: { keys } }: Config, ring: KeyRing | undefined): KeySource {
  if (keys.kind === 'public-key') return { kind: 'public-key', text: keys.pem }
  if (keys.kind === 'jwks') return keys
  if (!ring) throw new Error('the embedded keys were not opened')
  return { kind: 'embedded', keys: ring }
}
