/** The form of API keys: `sp_`, a public id, and a secret. Only the secret's hash is stored. */
import { hash, randomInt, timingSafeEqual } from 'node:crypto'

/** Without the characters that look alike (0 O I l). */
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

const ID_LENGTH = 10
/** 187 bits: nobody guesses it, so a fast hash protects it well enough. */
const SECRET_LENGTH = 32

const FORM = new RegExp(`^sp_([${ALPHABET}]{${ID_LENGTH}})_([${ALPHABET}]{${SECRET_LENGTH}})$`)

export interface ApiKeyParts {
  readonly id: string
  readonly secret: string
}

export function createApiKey(): ApiKeyParts & { readonly text: string } {
  const [id, secret] = [random(ID_LENGTH), random(SECRET_LENGTH)]
  return { id, secret, text: `sp_${id}_${secret}` }
}

/** Undefined if the text doesn't have the form of a key. */
export function readApiKey(credential: string): ApiKeyParts | undefined {
  const [, id, secret] = FORM.exec(credential) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

export function hashOfSecret(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

/** Compares in constant time. */
export function isSecretOf(secret: string, secretHash: string): boolean {
  const [given, kept] = [Buffer.from(hashOfSecret(secret)), Buffer.from(secretHash)]
  return given.length === kept.length && timingSafeEqual(given, kept)
}

function random(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}
