/** Tokens for a deployment: minted with its signing key, or read from a file. */
import { createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { CryptoKey, JWK } from 'jose'
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint'
import { SignJWT } from 'jose/jwt/sign'
import { importJWK } from 'jose/key/import'
import { v7 as uuidv7 } from 'uuid'
import { refuseFaults } from '../../../base/diagnostic.ts'
import { shapeOf } from '../../../base/shape-of.ts'
import { parseYaml } from '../../../base/yaml-file.ts'
import { ToolError } from '../../load-policy.ts'
import { columnText } from '../read/expectation.ts'
import { readSource } from '../read/read-matrices.ts'
import { parseColumn } from '../read/words.ts'
import type { TestSignIn } from './test-target.ts'

type Mint = (subject: string, roles: readonly string[], signIn?: TestSignIn) => Promise<string>

/** The callers that a run can have tokens for. */
export type TokenSource =
  | { readonly kind: 'minted'; readonly mint: Mint }
  /** By column, as `columnText` writes it. */
  | { readonly kind: 'given'; readonly callers: ReadonlyMap<string, GivenCaller> }

interface GivenCaller {
  readonly token: string
  /** The id in the token. */
  readonly subject: string
}

interface TokenAudience {
  readonly issuer: string
  readonly audience: string
}

const TOKEN_SECONDS = 60 * 60

const tokensShape = shapeOf<Readonly<Record<string, GivenCaller>>>({
  type: 'object',
  minProperties: 1,
  additionalProperties: {
    type: 'object',
    properties: { token: { type: 'string', minLength: 1 }, subject: { type: 'string', minLength: 1 } },
    required: ['token', 'subject'],
    additionalProperties: false,
  },
})

/** The same callers, who have signed in like this. */
export function signedInLike(tokens: TokenSource, signIn: TestSignIn): TokenSource {
  if (tokens.kind === 'given') return tokens
  return { kind: 'minted', mint: (subject, roles) => tokens.mint(subject, roles, signIn) }
}

/** A YAML or JSON file: `member: { token: …, subject: alice }` for each column. Throws FileError. */
export async function readTokens(file: string): Promise<TokenSource> {
  const callers = await refuseFaults(async (report) => {
    const source = await readSource(file, report)
    const parsed = source && parseYaml(source, tokensShape, report)
    if (!parsed) return []
    return Object.entries(parsed.value).map(([name, caller]) => {
      const column = parseColumn(name)
      if (column.kind === 'wrong') report(parsed.fault([name], 'tokens-column', column.message, column.hint))
      return [column.kind === 'parsed' ? columnText(column.value) : name, caller] as const
    })
  })
  return { kind: 'given', callers: new Map(callers) }
}

/** A private key (JWK or PKCS#8 PEM) that the deployment trusts. Throws ToolError. */
export async function readMint(file: string, claims: TokenAudience): Promise<TokenSource> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new ToolError(
      `there is no signing key ${file}: name one with --key or --data, or tokens with --tokens ` +
        '(docs/testing-policies.md)',
    )
  })
  return mintWith(await importKey(file, text), claims)
}

/** A private key that signs the tokens of a run. */
export interface MintKey {
  readonly key: CryptoKey | Uint8Array
  readonly algorithm: string
  readonly kid: string
}

export function mintWith({ key, algorithm, kid }: MintKey, { issuer, audience }: TokenAudience): TokenSource {
  const mint: Mint = (subject, roles, { authTime, acr } = {}) =>
    new SignJWT({
      roles: [...roles],
      ...(authTime === undefined ? {} : { auth_time: Math.floor(authTime / 1000) }),
      ...(acr === undefined ? {} : { acr }),
    })
      .setProtectedHeader({ alg: algorithm, typ: 'at+jwt', kid })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(subject)
      .setJti(uuidv7())
      .setIssuedAt()
      .setExpirationTime(`${TOKEN_SECONDS}s`)
      .sign(key)
  return { kind: 'minted', mint }
}

/** The error's own message isn't shown, because it could repeat the key. */
async function importKey(file: string, text: string) {
  try {
    const jwk: JWK = text.trimStart().startsWith('{')
      ? JSON.parse(text)
      : createPrivateKey(text).export({ format: 'jwk' })
    const algorithm = jwk.alg ?? ALGORITHMS[jwk.crv ?? String(jwk.kty)]
    if (jwk.d === undefined || algorithm === undefined) throw new Error('not a private key')
    const kid = jwk.kid ?? (await calculateJwkThumbprint(jwk))
    return { key: await importJWK(jwk, algorithm), algorithm, kid }
  } catch {
    throw new ToolError(`${file} is not a private key: name a JWK or a PKCS#8 PEM of RSA, EC or Ed25519`)
  }
}

const ALGORITHMS: Readonly<Record<string, string>> = {
  Ed25519: 'EdDSA',
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
  RSA: 'RS256',
}
