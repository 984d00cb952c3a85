/**
 * Puts together the verifiers of tokens and API keys, with the check of their callers in the store, and sign-in to the
 * embedded directory.
 */
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import { rolesLost } from '../../decide/role-guarantees.ts'
import type { TokenVerifier } from '../../identity/caller.ts'
import { createAccountCheck, verifyAccounts } from '../../identity/directory/account-status.ts'
import {
  createApiKeyUses,
  createApiKeyVerifier,
  createMasterSecret,
  lentKey,
} from '../../identity/directory/api-key.ts'
import { keyPlaceOf, openKeys } from '../../identity/keys/embedded/kept-keys.ts'
import { type KeyRing, openKeyRing } from '../../identity/keys/embedded/key-ring.ts'
import { keyFolderIn } from '../../identity/keys/embedded/keys-secret.ts'
import type { KeySource } from '../../identity/keys/verification-keys.ts'
import { createGuessing } from '../../identity/sign-in/guessing.ts'
import { createPasswords, type Passwords } from '../../identity/sign-in/password.ts'
import { createSignIn, type SignIn } from '../../identity/sign-in/sign-in.ts'
import { issueToken } from '../../identity/tokens/issue-token.ts'
import { rememberTokens, verifyByIssuer } from '../../identity/tokens/remembered-tokens.ts'
import { createTokenVerifier } from '../../identity/tokens/token-verifier.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { Store } from '../../store/contract.ts'
import type { Attempts, Directory } from '../../store/directory.ts'

interface IdentityOptions {
  readonly config: Config
  readonly directory: Directory
  readonly now: () => Date
  readonly log: Logger
  /** Replaces the verifier that the configuration names. */
  readonly tokens?: TokenVerifier | undefined
}

interface OpenedIdentity {
  readonly verifier: TokenVerifier
  /** The same verifier, which asks another directory. */
  readonly verifierOn: (directory: Directory) => TokenVerifier
  /** Undefined if this server issues no tokens. */
  readonly keys: KeyRing | undefined
  /** The credential of an API key, for requests of this process in its name. */
  readonly lend: (keyId: string) => string
  readonly close: () => Promise<void>
}

/** Throws KeyError. */
export async function openIdentity(options: IdentityOptions): Promise<OpenedIdentity> {
  const { config, log } = options
  const ring = await openRing(config, log)
  try {
    return connect(options, ring)
  } catch (error) {
    await ring?.close()
    throw error
  }
}

function connect({ config, directory, now, log, tokens }: IdentityOptions, ring: KeyRing | undefined): OpenedIdentity {
  const verifier = tokens ?? openTokens(config, ring)
  const time = () => now().getTime()
  const uses = createApiKeyUses(directory, (error) =>
    log.warn({ err: error }, 'the last uses of API keys could not be stored; they are stored later'),
  )
  const master = createMasterSecret()
  const verifierOn = (asked: Directory): TokenVerifier => {
    const checkAccount = createAccountCheck(asked, time)
    const keys = createApiKeyVerifier({ directory: asked, now: time, used: uses.note, master })
    return verifyAccounts({ keys, tokens: verifier, checkAccount })
  }
  return {
    verifier: verifierOn(directory),
    verifierOn,
    keys: ring,
    lend: (keyId) => lentKey(keyId, master),
    close: async () => {
      await ring?.close()
      await uses.close()
    },
  }
}

async function openRing(config: Config, log: Logger): Promise<KeyRing | undefined> {
  const place = keyPlaceOf(config)
  if (!place) return undefined
  const kept = await openKeys(place, (count) => {
    const folder = keyFolderIn(config.dataDirectory)
    log.info({ folder, count }, 'the signing keys of the folder are now in the database; the folder is no longer read')
  })
  return openKeyRing(kept, (error) => {
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

// Sign-in, for a server that issues its own tokens.

interface SignInSources {
  readonly keys: Pick<KeyRing, 'signer'>
  readonly store: Pick<Store, 'secret'>
  readonly policy: Pick<LivePolicy, 'active'>
  readonly directory: Directory
  readonly attempts: Attempts
  readonly now: () => Date
  readonly passwords: Passwords | undefined
}

/** RFC 9068 section 2.2: a token names its client. People who sign in here sign in to this server. */
const CLIENT = 'sallyport'

export async function openSignIn({ tokens }: Config, parts: SignInSources): Promise<SignIn> {
  const { keys, store, directory, attempts, passwords = createPasswords() } = parts
  const now = () => parts.now().getTime()
  const { issuer, audience } = tokens
  return createSignIn({
    directory,
    passwords,
    guessing: createGuessing(attempts, await store.secret('guessing'), now),
    issue: (request) => {
      // For other readers of the token: this server looks at the record with each request.
      const lost = rolesLost(parts.policy.active.snapshot.roleGuarantees.apart, request.roles)
      const roles = request.roles.filter((role) => !lost.includes(role))
      return issueToken(keys.signer(), { ...request, roles, issuer, audience, claims: { client_id: CLIENT } })
    },
    now,
  })
}
