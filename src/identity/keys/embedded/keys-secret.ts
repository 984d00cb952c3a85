/**
 * The secret that encrypts the signing keys in the database: KEYS_SECRET, or for a database file the file `keys/secret`
 * of the data folder, which the first start makes. A copy of the database alone lets nobody sign. No text that shows a
 * secret has its bytes.
 */

import { randomBytes } from 'node:crypto'
import { constants, open, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncDirectory, writeDurably } from '../../../base/files/durable-file.ts'
import { fixOfPath } from '../../../base/files/fix-path.ts'
import { makeFolder } from '../../../base/files/make-folder.ts'
import { nameNew, unfinishedIn } from '../../../base/files/new-files.ts'
import { systemReason } from '../../../base/files/system-reason.ts'
import { AGAIN, againWith, shellWord } from '../../../base/problems/fix.ts'
import { KeyError } from '../key-error.ts'

/** 32 bytes are 43 characters of base64url without padding. */
const MIN_BYTES = 32
const MAX_BYTES = 256
/** 32 random bytes have fewer different ones than this with a probability under 10^-12. */
const MIN_DIFFERENT = 16

/** Starts again with a new secret, and keeps it: a secret that nobody kept would lose the keys at the next start. */
export const WITH_NEW_SECRET =
  'KEYS_SECRET="$(openssl rand -base64 32)" && export KEYS_SECRET && ' +
  `(umask 077; printf '\\nKEYS_SECRET=%s\\n' "$KEYS_SECRET" >> .env) && ${AGAIN}`

export class KeysSecret {
  /** The setting or the file that has it, for messages. */
  readonly name: string
  readonly #bytes: Uint8Array

  constructor(name: string, bytes: Uint8Array) {
    this.name = name
    this.#bytes = bytes
  }

  bytes(): Uint8Array {
    return this.#bytes
  }
}

export interface KeysSecrets {
  /** Encrypts, and decrypts. */
  readonly current: KeysSecret
  /** Only decrypts. */
  readonly old: readonly KeysSecret[]
}

/** Of the setting `name`. Throws KeyError for a weak secret; its message has no part of the value. */
export function readKeysSecret(name: string, value: string): KeysSecret {
  const secret = parseKeysSecret(name, value)
  if (secret) return secret
  throw new KeyError(
    `${name} is not ${MIN_BYTES} to ${MAX_BYTES} random bytes in base64; set it to the value that encrypted the keys, or ` +
      'for the first start to a new one that you keep in the environment of every start, for example in .env',
    name === 'KEYS_SECRET' ? WITH_NEW_SECRET : againWith(name, "'<the value before>'"),
  )
}

/** `text`: base64 or base64url. Line ends count for nothing: programs that print a secret add them. */
function parseKeysSecret(name: string, text: string): KeysSecret | undefined {
  const value = text.replaceAll(/\s/g, '')
  const bytes = /^[A-Za-z0-9+/_-]+={0,2}$/.test(value) ? Buffer.from(value, 'base64') : Buffer.alloc(0)
  const long = bytes.length >= MIN_BYTES && bytes.length <= MAX_BYTES
  return long && new Set(bytes).size >= MIN_DIFFERENT ? new KeysSecret(name, bytes) : undefined
}

// The file of a secret.

const OWNER_ONLY = 0o600
const MOST_FILE_BYTES = 64 * 1024

/** Of the secret, and of the keys of 0.1. */
export function keyFolderIn(dataDirectory: string): string {
  return join(dataDirectory, 'keys')
}

export function secretFileIn(dataDirectory: string): string {
  return join(keyFolderIn(dataDirectory), 'secret')
}

/** Undefined without such a file. Throws KeyError if it has no secret, or if others can read or replace it. */
export async function readSecretFile(dataDirectory: string): Promise<KeysSecret | undefined> {
  const file = secretFileIn(dataDirectory)
  const text = await readPrivately(file)
  if (text === undefined) return undefined
  const secret = parseKeysSecret(file, text)
  if (secret) return secret
  throw new KeyError(
    `${file} has no secret of signing keys: restore the file, or if the database has no keys yet, delete it`,
  )
}

/** Two processes that start together get the same secret. It is durable when this returns. Throws KeyError. */
export async function makeSecretFile(dataDirectory: string): Promise<KeysSecret> {
  const found = await readSecretFile(dataDirectory)
  if (found) return found
  const file = secretFileIn(dataDirectory)
  try {
    await writeSecret(keyFolderIn(dataDirectory), file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new KeyError(
      `the secret of the signing keys can't be written to ${file} (${systemReason(code)}): make room and let this user write there, ` +
        'or set KEYS_SECRET',
      fixOfPath(file, code),
    )
  }
  const made = await readSecretFile(dataDirectory)
  if (made) return made
  throw new KeyError(`${file} was deleted while the server started: start it again`)
}

async function writeSecret(folder: string, file: string): Promise<void> {
  await makeFolder(folder)
  const unfinished = unfinishedIn(folder)
  try {
    await writeDurably(unfinished, `${randomBytes(32).toString('base64')}\n`, OWNER_ONLY)
    await nameNew(unfinished, file)
  } catch (error) {
    // Another process was first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(unfinished, { force: true })
  }
  await syncDirectory(folder)
}

/**
 * The text of a file that only its owner can read, in a folder in which nobody else can replace it; undefined without
 * such a file. Checks and reads one open file: between two calls by name, it could be replaced. Throws KeyError.
 */
export async function readPrivately(file: string): Promise<string | undefined> {
  const folder = dirname(file)
  // A pipe that nobody writes to would be waited for.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch(({ code }) => {
    if (code === 'ENOENT') return undefined
    throw new KeyError(`${file} can't be read (${systemReason(code)})`, fixOfPath(file, code))
  })
  if (!handle) return undefined
  if (permits((await stat(folder)).mode, 0o022)) {
    throw new KeyError(
      `others can replace the files in ${folder}: let only their owner write there`,
      `chmod 700 ${shellWord(folder)}`,
    )
  }
  const found = await handle.stat()
  if (!found.isFile()) throw new KeyError(`${file} is no file: move it away`)
  if (found.size > MOST_FILE_BYTES) throw new KeyError(`${file} is too long for a key or a secret: restore it`)
  if (permits(found.mode, 0o077)) {
    throw new KeyError(`others can read ${file}: let only its owner read it`, `chmod 600 ${shellWord(file)}`)
  }
  return handle.readFile('utf8')
}

/** On Windows the mode bits mean nothing, because access lists decide there. */
function permits(mode: number, bits: number): boolean {
  return process.platform !== 'win32' && (mode & bits) !== 0
}
