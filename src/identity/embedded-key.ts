/** The embedded signing key (Ed25519): made on first use, kept in the data folder, readable by its owner alone. */
import { randomUUID } from 'node:crypto'
import { link, mkdir, open, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import type { Json } from '../resources/resource.ts'

export interface EmbeddedKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
}

/** A key, or what is to be done with it, that can't be. Its message is one sentence that says what to do. */
export class KeyError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'KeyError'
  }
}

/**
 * Reads `keys/signing.jwk` of a data folder, or makes it. Two processes that start at once end with one key. Throws
 * KeyError when the file is broken or others can read or replace it.
 */
export async function openEmbeddedKey(dataDirectory: string): Promise<EmbeddedKey> {
  const folder = join(dataDirectory, 'keys')
  const file = join(folder, 'signing.jwk')
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error) => {
    throw new KeyError(
      `the signing key can't be kept in ${folder} (${codeOf(error)}); set DATA_DIR to a folder to write in`,
    )
  })
  if (permits((await stat(folder)).mode, 0o022)) {
    throw new KeyError(`others can replace the signing key in ${folder}; run chmod 700 on that folder`)
  }
  if (!(await isThere(file))) await create(folder, file)
  return parse(file, await readPrivate(file))
}

/** RFC 7517 section 5: the public halves. */
export async function keySetOf(keys: readonly EmbeddedKey[]): Promise<{ readonly keys: readonly Json[] }> {
  const jwks = keys.map(async ({ kid, publicKey }) => ({
    ...(await exportJWK(publicKey)),
    kid,
    use: 'sig',
    alg: 'EdDSA',
  }))
  return { keys: (await Promise.all(jwks)) as unknown as readonly Json[] }
}

async function isThere(file: string): Promise<boolean> {
  try {
    await stat(file)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

/** A hard link appears whole or not at all, and only where nothing was: whoever comes second uses the first one's. */
async function create(folder: string, file: string): Promise<void> {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const draft = join(folder, `.${randomUUID()}`)
  try {
    await writeFile(draft, JSON.stringify(await exportJWK(privateKey)), { mode: 0o600, flag: 'wx', flush: true })
    await link(draft, file)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** Looks at the file that it reads: between two calls by name it could become another. */
async function readPrivate(file: string): Promise<string> {
  await using handle = await open(file)
  const found = await handle.stat()
  if (!found.isFile()) throw unusable(file)
  if (permits(found.mode, 0o077)) {
    throw new KeyError(`others can read the signing key ${file}; run chmod 600 on it, or delete it to get a new one`)
  }
  return handle.readFile('utf8')
}

async function parse(file: string, text: string): Promise<EmbeddedKey> {
  try {
    const jwk = JSON.parse(text) as JWK
    if (jwk.kty !== 'OKP' || jwk.crv !== 'Ed25519' || typeof jwk.d !== 'string') throw unusable(file)
    const { d, ...open } = jwk
    const privateKey = (await importJWK(jwk, 'EdDSA')) as CryptoKey
    const publicKey = (await importJWK(open, 'EdDSA')) as CryptoKey
    return Object.freeze({ kid: await calculateJwkThumbprint(open), privateKey, publicKey })
  } catch {
    throw unusable(file)
  }
}

function unusable(file: string): KeyError {
  return new KeyError(`the signing key ${file} is not an Ed25519 key; restore it, or delete it to get a new one`)
}

/** On Windows the bits say nothing: access lists decide there. */
function permits(mode: number, bits: number): boolean {
  return process.platform !== 'win32' && (mode & bits) !== 0
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
