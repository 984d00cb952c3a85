/** Archives that only the holder of a key file can read (https://age-encryption.org/v1). */
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { ToolError } from '../../load-policy.ts'
import { toldOfReading } from '../file-faults.ts'

/** The first bytes of an encrypted file. */
export const ENCRYPTED = 'age-encryption.org/v1\n'

/** Readable by the holder of the identity of any recipient. Throws ToolError for a recipient that isn't one. */
export async function encrypted(
  bytes: AsyncIterable<Uint8Array>,
  recipients: readonly string[],
): Promise<AsyncIterable<Uint8Array>> {
  const encrypter = encrypterFor(recipients)
  return Readable.fromWeb((await encrypter.encrypt(webStream(bytes))) as WebStream<Uint8Array>)
}

function encrypterFor(recipients: readonly string[]): Encrypter {
  const encrypter = new Encrypter()
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient)
    } catch {
      throw new ToolError(`\`${recipient}\` is no recipient; write the line that begins with age1 of the key file`)
    }
  }
  return encrypter
}

/** Throws ToolError if no key of the file opens it. Damage is found while the bytes are read. */
export async function decrypted(
  bytes: AsyncIterable<Uint8Array>,
  identityFile: string,
): Promise<AsyncIterable<Uint8Array>> {
  const decrypter = new Decrypter()
  for (const identity of await readIdentities(identityFile)) {
    try {
      decrypter.addIdentity(identity)
    } catch {
      throw new ToolError(`the key file \`${identityFile}\` has a line that is no key; restore the file`)
    }
  }
  try {
    return Readable.fromWeb((await decrypter.decrypt(webStream(bytes))) as WebStream<Uint8Array>)
  } catch (error) {
    if (!/no identity matched/.test((error as Error).message)) throw error
    throw new ToolError(
      `no key of \`${identityFile}\` opens the archive; name its own key file (or its first bytes were changed)`,
    )
  }
}

async function readIdentities(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch(
    toldOfReading({ what: 'key file', file, madeBy: 'sallyport backup key' }),
  )
  const lines = text.split('\n').map((line) => line.trim())
  const identities = lines.filter((line) => line !== '' && !line.startsWith('#'))
  if (identities.length > 0) return identities
  throw new ToolError(`the key file \`${file}\` has no key; make one with \`sallyport backup key FILE\``)
}

export interface NewKey {
  /** The text of the key file. */
  readonly text: string
  readonly recipient: string
}

export async function newKey(now: Date): Promise<NewKey> {
  const identity = await generateX25519Identity()
  const recipient = await identityToRecipient(identity)
  return { text: `# created: ${now.toISOString()}\n# public key: ${recipient}\n${identity}\n`, recipient }
}

function webStream(bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  return Readable.toWeb(Readable.from(bytes, { objectMode: false })) as unknown as ReadableStream<Uint8Array>
}
