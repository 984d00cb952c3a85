/** The keys of published policies: POLICY_SIGNING_KEY of a publisher, POLICY_PUBLIC_KEYS of instances. */

import { createPrivateKey, createPublicKey, type KeyObject, type webcrypto } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint'
import { fixOfPath, namesFile } from '../../base/files/fix-path.ts'
import { systemReason } from '../../base/files/system-reason.ts'
import { againWith, shellWord } from '../../base/problems/fix.ts'
import type { VersionKeys, VersionSigner } from '../../policy/published/signed-version.ts'
import { KeyError } from './key-error.ts'

/** `file`: PEM (PKCS #8) or a JWK. Throws KeyError. */
export async function readPolicySigner(file: string): Promise<VersionSigner> {
  const text = contentOf('POLICY_SIGNING_KEY', file)
  try {
    const privateKey = isJson(text)
      ? createPrivateKey({ key: JSON.parse(text), format: 'jwk' })
      : createPrivateKey(text)
    if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error('another kind of key')
    return { kid: await thumbprintOf(createPublicKey(privateKey)), privateKey }
  } catch {
    throw new KeyError('POLICY_SIGNING_KEY is not a private Ed25519 key; set it to a file with one, in PEM or as a JWK')
  }
}

/** `files`: names of files, separated by commas; each holds a key in PEM (SPKI) or as a JWK. Throws KeyError. */
export async function readPolicyKeys(files: string): Promise<VersionKeys> {
  const names = files.split(',').map((name) => name.trim())
  const keys = names.filter((name) => name !== '').map((name) => readPublicKey(name))
  if (keys.length === 0) throw new KeyError('POLICY_PUBLIC_KEYS names no file; set it to files with public keys')
  return new Map(await Promise.all(keys.map(async (key) => [await thumbprintOf(key), key] as const)))
}

/** The public half. With it, a publisher trusts its own versions. */
export async function publicHalf({ kid, privateKey }: VersionSigner): Promise<VersionKeys> {
  return new Map([[kid, createPublicKey(privateKey)]])
}

function readPublicKey(file: string): KeyObject {
  const text = contentOf('POLICY_PUBLIC_KEYS', file)
  const jwk = isJson(text) ? parsed(text) : undefined
  if (text.includes('PRIVATE KEY') || jwk?.d !== undefined) {
    throw new KeyError(
      `POLICY_PUBLIC_KEYS names ${file}, which holds a private key; instances need only the public key`,
      `openssl pkey -in ${shellWord(file)} -pubout -out ${shellWord(`${file}.pub`)} && ` +
        againWith('POLICY_PUBLIC_KEYS', shellWord(`${file}.pub`)),
    )
  }
  try {
    const key = jwk ? createPublicKey({ key: jwk, format: 'jwk' }) : createPublicKey(text)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // Reported below.
  }
  throw new KeyError(
    `POLICY_PUBLIC_KEYS names ${file}, which is not a public Ed25519 key; write one in PEM or as a JWK`,
  )
}

function contentOf(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const isFile = namesFile(file, code)
    const named = isFile ? ` names ${file}, which` : ': the file that it names'
    const fix = isFile ? fixOfPath(file, code) : undefined
    throw new KeyError(
      `${variable}${named} can't be read (${systemReason(code)}); set it to the name of a readable file`,
      fix,
    )
  }
}

function isJson(text: string): boolean {
  return text.trimStart().startsWith('{')
}

function parsed(text: string): webcrypto.JsonWebKey | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function thumbprintOf(key: KeyObject): Promise<string> {
  return calculateJwkThumbprint(key.export({ format: 'jwk' }) as { kty: string })
}
