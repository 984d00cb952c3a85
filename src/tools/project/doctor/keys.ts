/** The keys: of tokens, of published policies, and of other issuers. */
import { type Checked, faulted, passed, unchecked, warned } from '../../../base/problems/checked.ts'
import type { Config } from '../../../config/config.ts'
import { fixOf } from '../../../config/fix-of.ts'
import type { RingKeys } from '../../../identity/keys/embedded/embedded-key.ts'
import { type KeyPlaceSettings, readStoredKeys, refuseNoSecret } from '../../../identity/keys/embedded/kept-keys.ts'
import { readKeyFolder, removalOfKeys } from '../../../identity/keys/embedded/key-folder.ts'
import { keyFolderIn, readSecretFile } from '../../../identity/keys/embedded/keys-secret.ts'
import { discoveryUrl, fetchKeys, fetchKeysOf } from '../../../identity/keys/key-server.ts'
import { readPolicyKeys, readPolicySigner } from '../../../identity/keys/policy-keys.ts'
import { createTokenVerifier } from '../../../identity/tokens/token-verifier.ts'
import { count } from '../../../present/text.ts'
import type { Examined } from '../../../store/object-reader.ts'
import { databaseExists, isFile } from '../../../store/open.ts'

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
  return checkSigningKeys(
    { dataDirectory: config.dataDirectory, database: config.database, secrets: keys.secrets },
    examined,
  )
}

async function checkSigningKeys(
  place: KeyPlaceSettings,
  examining: Promise<Examined | undefined>,
): Promise<readonly Checked[]> {
  refuseNoSecret(place)
  const examined = await examining
  if (examined === undefined && databaseExists(place.database)) {
    return [unchecked(CHECK, "the database with the signing keys can't be read")]
  }
  const [stored, former] = [examined?.keys, await readKeyFolder(place.dataDirectory)]
  const folder = keyFolderIn(place.dataDirectory)
  if (stored === undefined || stored.keys.length === 0) {
    if (isFile(place.database)) await readSecretFile(place.dataDirectory)
    const next = former.length > 0 ? `takes over the ${count(former.length, 'key')} of ${folder}` : 'makes it'
    return [passed(CHECK, `there is no signing key in the database yet; the next start ${next}`)]
  }
  const left = `the keys of 0.1 in ${folder} are no longer read, because the database has the keys`
  return [
    ageOf(await readStoredKeys(stored, place)),
    ...(former.length > 0 ? [warned(CHECK, left, removalOfKeys(place.dataDirectory))] : []),
  ]
}

function ageOf({ current: { createdAt } }: RingKeys): Checked {
  const days = Math.floor((Date.now() - createdAt) / DAY_MS)
  const message = `the key that signs can be read, and is ${count(days, 'day')} old`
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
    ...(verifying
      ? [passed(CHECK, `POLICY_PUBLIC_KEYS: published policies are verified with ${count(verifying.size, 'key')}`)]
      : []),
    ...(signingKey === undefined ? [] : [passed(CHECK, 'POLICY_SIGNING_KEY can sign policies')]),
  ]
}
