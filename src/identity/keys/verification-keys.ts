/** The keys that verify tokens: the embedded ones, a configured public key, a key server's, or an OpenID provider's. */
import type { JWTVerifyGetKey } from 'jose'
import { withoutSecrets } from '../../present/without-secrets.ts'
import type { VerifyingKeys } from './embedded/key-ring.ts'
import { KeyError } from './key-error.ts'
import { createKeyServer, createProviderKeys } from './key-server.ts'
import { openPublicKey } from './public-key.ts'

export type KeySource =
  | { readonly kind: 'embedded'; readonly keys: VerifyingKeys }
  /** PEM (SPKI) or JWK text. */
  | { readonly kind: 'public-key'; readonly text: string }
  /** The only URL that is ever fetched. */
  | { readonly kind: 'jwks'; readonly url: string }
  /** Only its discovery document and the `jwks_uri` in it are ever fetched. */
  | { readonly kind: 'openid'; readonly issuer: string }

interface VerificationKeys {
  readonly find: JWTVerifyGetKey
  /** See KeyedVerifier. */
  readonly generation: () => number | undefined
  /** The algorithms that the keys can verify; settings can only narrow them. */
  readonly possibleAlgorithms: readonly string[]
  /** Allows for the different clocks of other machines. */
  readonly clockToleranceSeconds: number
}

const OTHER_CLOCK_SECONDS = 5

const ASYMMETRIC = ['EdDSA', 'Ed25519', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512']

/** Throws KeyError for an invalid or weak key. */
export function openVerificationKeys(source: KeySource): VerificationKeys {
  switch (source.kind) {
    case 'embedded':
      return {
        ...source.keys,
        possibleAlgorithms: ['EdDSA'],
        clockToleranceSeconds: 0,
      }
    case 'public-key': {
      const { key, algorithms } = openPublicKey(source.text)
      return {
        find: async () => key,
        generation: always,
        possibleAlgorithms: algorithms,
        clockToleranceSeconds: OTHER_CLOCK_SECONDS,
      }
    }
    case 'jwks':
      return {
        ...createKeyServer(source.url),
        possibleAlgorithms: ASYMMETRIC,
        clockToleranceSeconds: OTHER_CLOCK_SECONDS,
      }
    case 'openid':
      return {
        ...createProviderKeys(source.issuer),
        possibleAlgorithms: ASYMMETRIC,
        clockToleranceSeconds: OTHER_CLOCK_SECONDS,
      }
  }
}

/** For keys that never change. */
function always(): number {
  return 0
}

/** Throws KeyError unless all chosen algorithms are possible ones: with HMAC a public key would be a shared secret. */
export function chooseAlgorithms(
  { possibleAlgorithms }: VerificationKeys,
  setting: 'JWT_ALGORITHMS' | 'OIDC_ALGORITHMS',
  configured: readonly string[] = possibleAlgorithms,
): readonly string[] {
  const possible = possibleAlgorithms.join(', ')
  if (configured.length === 0) throw new KeyError(`${setting} is empty; list some of ${possible}`)
  const wrong = configured.find((algorithm) => !possibleAlgorithms.includes(algorithm))
  if (wrong === undefined) return configured
  const named = JSON.stringify(withoutSecrets(wrong))
  throw new KeyError(`${setting} has ${named}, which these keys can't verify; list some of ${possible}`)
}
