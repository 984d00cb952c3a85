/** The keys: of tokens, of published policies, and of other issuers. */
import { type Checked, faulted, passed, unchecked, warned } from '../../../base/problems/checked.ts'
import type { Config } from '../../../config/config.ts'
import { fixOf } from '../../../config/fix-of.ts'
import { inspectKeyFolder } from '../../../identity/keys/embedded/key-folder.ts'
import type { RingKeys } from '../../../identity/keys/embedded/key-place.ts'
import { type KeysSecrets, WITH_NEW_SECRET } from '../../../identity/keys/embedded/keys-secret.ts'
import { discoveryUrl, fetchKeys, fetchKeysOf } from '../../../identity/keys/key-server.ts'
import { readPolicyKeys, readPolicySigner } from '../../../identity/keys/policy-keys.ts'
import { createTokenVerifier } from '../../../identity/tokens/token-verifier.ts'
import type { Examined } from '../../../store/object-reader.ts'

const CHECK = 'keys'
const FETCH_MS = 3000
const DAY_MS = 86_400_000
/** Older keys have signed so much that nobody knows who has a copy. */
const OLD_DAYS = 365

/** `examined`: undefined where the database can't be looked at. */
export async function checkKeys(config: Config, examined: Promise<Examined | undefined>): Promise<readonly Checked[]> {
  const checks = [checkTokenKeys(config, examined), checkOpenId(config), checkPolicyKeys(config)]
  return (await Promise.all(checks.map((one) => one.catch((error) => [refusal(error)])))).flat()
}

function refusal(error: Error): Checked {
  return faulted(CHECK, error.message, fixOf(error))
}

async function checkTokenKeys(config: Config, examined: Promise<Examined | undefined>): Promise<readonly Checked[]> {
  const { keys, issuer, audience, algorithms } = config.tokens
  if (keys.kind === 'jwks') return checkFetched(keys.url, (signal) => fetchKeys(keys.url, options(signal)))
  if (keys.kind === 'public-key') {
    createTokenVerifier({ keys: { kind: 'public-key', text: keys.pem }, issuer, audience, algorithms })
    return [passed(CHECK, 'JWT_PUBLIC_KEY can verify tokens')]
  }
  return keys.secrets ? inDatabase(config, keys.secrets, await examined) : inFolder(config, await examined)
}

async function inFolder({ dataDirectory }: Config, examined: Examined | undefined): Promise<readonly Checked[]> {
  const keys = await inspectKeyFolder(dataDirectory)
  const shared = examined?.isServer
    ? [
        warned(
          CHECK,
          'the signing keys are files of DATA_DIR, so other instances on this database refuse tokens of this one',
          WITH_NEW_SECRET,
        ),
      ]
    : []
  return [keys ? ageOf(keys) : passed(CHECK, 'there is no signing key yet; the first start makes it'), ...shared]
}

async function inDatabase(
  { database }: Config,
  secrets: KeysSecrets,
  examined: Examined | undefined,
): Promise<readonly Checked[]> {
  if (examined === undefined) return [unchecked(CHECK, "the database with the signing keys can't be read")]
  const { keys } = examined
  if (keys === undefined || keys.keys.length === 0) {
    return [passed(CHECK, 'there is no signing key in the database yet; the first start makes it')]
  }
  const { readStoredKeys } = await import('../../../identity/keys/embedded/keys-in-database.ts')
  return [ageOf(await readStoredKeys(keys, secrets, database.name))]
}

function ageOf({ current: { createdAt } }: RingKeys): Checked {
  const days = Math.floor((Date.now() - createdAt) / DAY_MS)
  const message = `the key that signs can be read, and is ${days} days old`
  return days > OLD_DAYS ? warned(CHECK, message, 'sallyport signing-keys rotate') : passed(CHECK, message)
}

async function checkOpenId({ openId }: Config): Promise<readonly Checked[]> {
  if (!openId) return []
  const { issuer } = openId
  return checkFetched(discoveryUrl(issuer), (signal) => fetchKeysOf(issuer)(issuer, options(signal)))
}

async function checkFetched(url: string, ask: (signal: AbortSignal) => Promise<unknown>): Promise<readonly Checked[]> {
  const name = `${new URL(url).origin}${new URL(url).pathname}`
  try {
    await ask(AbortSignal.timeout(FETCH_MS))
    return [passed(CHECK, `${name} gives keys that verify tokens`)]
  } catch (error) {
    const why = ((error as Error).cause as Error | undefined)?.message ?? (error as Error).message
    return [faulted(CHECK, `${name} gives no keys (${why})`, `curl -sSf '${name.replaceAll("'", '%27')}'`)]
  }
}

function options(signal: AbortSignal): Parameters<typeof fetchKeys>[1] {
  return { headers: new Headers(), method: 'GET', redirect: 'manual', signal }
}

async function checkPolicyKeys({ published: { publicKeys, signingKey } }: Config): Promise<readonly Checked[]> {
  const verifying = publicKeys === undefined ? undefined : await readPolicyKeys(publicKeys)
  if (signingKey !== undefined) await readPolicySigner(signingKey)
  return [
    ...(verifying ? [passed(CHECK, `POLICY_PUBLIC_KEYS: ${verifying.size} keys verify published policies`)] : []),
    ...(signingKey === undefined ? [] : [passed(CHECK, 'POLICY_SIGNING_KEY can sign policies')]),
  ]
}
