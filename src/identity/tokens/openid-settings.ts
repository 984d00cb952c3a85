/** OIDC_*: the OpenID provider whose access tokens are accepted beside those made here. */

import type { Environment } from '../../base/command-process.ts'
import { isObject } from '../../base/is-object.ts'
import { pathOfPointer } from '../../base/json-pointer.ts'
import { againWith } from '../../base/problems/fix.ts'
import { withoutSecrets } from '../../present/without-secrets.ts'
import { KeyError } from '../keys/key-error.ts'
import { isSafeForKeys } from '../keys/key-settings.ts'

export interface OpenIdSettings {
  /** Compared exactly with `iss` and with the provider's discovery document. */
  readonly issuer: string
  readonly audience: string
  /** Undefined for all the safe ones. */
  readonly algorithms: readonly string[] | undefined
  readonly claims: ClaimNames
}

/** The claims that hold the subject and the roles, and the form of the subject. */
export interface ClaimNames {
  readonly subject: ClaimPath
  readonly roles: ClaimPath
  /** The prefix of each subject, so that no two issuers share an id. */
  readonly subjectPrefix: string
}

export const OPENID_NAMES: readonly string[] = [
  'OIDC_ISSUER',
  'OIDC_AUDIENCE',
  'OIDC_ALGORITHMS',
  'OIDC_SUBJECT_CLAIM',
  'OIDC_ROLES_CLAIM',
  'OIDC_SUBJECT_PREFIX',
]

/** Undefined without OIDC_ISSUER. Throws KeyError. `ownIssuer`: the issuer of all other tokens. */
export function readOpenIdSettings(environment: Environment, ownIssuer: string): OpenIdSettings | undefined {
  const set = Object.keys(environment).filter((name) => name.startsWith('OIDC_') && environment[name])
  const unknown = set.find((name) => !OPENID_NAMES.includes(name))
  // An unknown setting is refused, because somebody may rely on it.
  if (unknown) throw new KeyError(`${unknown} is not a setting; use one of ${OPENID_NAMES.join(', ')}`)
  const issuer = environment.OIDC_ISSUER
  if (!issuer) {
    if (set.length === 0) return undefined
    const fault = `${set[0]} is set without OIDC_ISSUER; set OIDC_ISSUER to the provider, or unset ${set[0]}`
    throw new KeyError(fault, againWith('OIDC_ISSUER', 'https://<issuer>'))
  }
  refuseUnfitIssuer(issuer, ownIssuer)
  const audience = environment.OIDC_AUDIENCE
  if (!audience) {
    throw new KeyError(
      'OIDC_ISSUER is set without OIDC_AUDIENCE; set it to the `aud` that the provider writes for this API',
      againWith('OIDC_AUDIENCE', '<audience>'),
    )
  }
  refuseChosenSubject(environment)
  const algorithms = environment.OIDC_ALGORITHMS?.split(',').map((one) => one.trim())
  return Object.freeze({
    issuer,
    audience,
    algorithms: algorithms?.[0] ? algorithms : undefined,
    claims: Object.freeze({
      subject: claimPath(environment, 'OIDC_SUBJECT_CLAIM', 'sub'),
      roles: claimPath(environment, 'OIDC_ROLES_CLAIM', 'roles'),
      subjectPrefix: prefix(environment.OIDC_SUBJECT_PREFIX ?? ''),
    }),
  })
}

/**
 * OpenID Connect Discovery 1.0 section 3: no query, no fragment; the value may hold a password, so it isn't repeated.
 */
function refuseUnfitIssuer(issuer: string, ownIssuer: string): void {
  const url = URL.parse(issuer)
  const plain = url?.username === '' && url.password === '' && !/[?#]/.test(issuer)
  if (!isSafeForKeys(issuer) || !plain) {
    throw new KeyError(
      'OIDC_ISSUER is not an https URL (or http of this machine); set it to one without query, fragment or password',
    )
  }
  if (issuer !== ownIssuer) return
  throw new KeyError('OIDC_ISSUER and JWT_ISSUER are the same; set them to different values')
}

/**
 * Only `sub` is never given to another user (OpenID Connect Core 1.0 section 5.7); users may choose an e-mail address
 * or a name themselves.
 */
function refuseChosenSubject({ OIDC_SUBJECT_CLAIM: claim = '', OIDC_SUBJECT_PREFIX: prefix }: Environment): void {
  if (claim === '' || claim === 'sub' || prefix !== undefined) return
  const fault = `OIDC_SUBJECT_CLAIM is ${JSON.stringify(withoutSecrets(claim))}, but OIDC_SUBJECT_PREFIX is not set`
  const advice = 'set a prefix like corp:, or an empty one if nobody can choose the value of this claim'
  const fix = againWith('OIDC_SUBJECT_PREFIX', 'corp:')
  throw new KeyError(`${fault}, so somebody could choose the id of a user of this server; ${advice}`, fix)
}

function claimPath(environment: Environment, name: string, preset: string): ClaimPath {
  const text = environment[name] || preset
  const path = readClaimPath(text)
  if (path) return path
  const forms = 'roles, realm_access.roles, https://example.com/roles, or a JSON Pointer'
  throw new KeyError(`${name} is ${JSON.stringify(withoutSecrets(text))}; set it to a claim like ${forms}`)
}

function prefix(text: string): string {
  if (text.length <= 64 && !text.startsWith('user:') && text.isWellFormed() && !/\p{Cc}/u.test(text)) return text
  throw new KeyError(
    'OIDC_SUBJECT_PREFIX is not valid; use at most 64 characters, no control characters, and no `user:` at the start',
  )
}

/** The claim names from the outermost to the innermost. */
export type ClaimPath = readonly string[]

/**
 * `roles`; `realm_access.roles` for a claim within a claim; `https://example.com/roles` as one name, because the dots
 * of a URL don't separate names; and a JSON Pointer (RFC 6901) for every other name with dots:
 * `/resource_access/my.app/roles`. Undefined for a name that has an empty part.
 */
export function readClaimPath(text: string): ClaimPath | undefined {
  const path = partsOf(text)
  return path.every((part) => part !== '') ? path : undefined
}

function partsOf(text: string): ClaimPath {
  if (text.startsWith('/')) return pathOfPointer(text)
  return text.includes('://') ? [text] : text.split('.')
}

/** Undefined if there is no such claim. Only the token's own claims count, never inherited properties of objects. */
export function claimAt(claims: Readonly<Record<string, unknown>>, path: ClaimPath): unknown {
  let value: unknown = claims
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}
