/** Archives that only the holder of a key file can read (https://age-encryption.org/v1). */
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { ToolError } from '../../load-policy.ts'
import { refuseUnreadable } from '../file-faults.ts'

/** The first bytes of an encrypted file. */
export const ENCRYPTED = 'age-encryption.org/v1\n'

/** Of the text before the encrypted bytes: more lines for recipients than this would only keep a restore busy. */
const LONGEST_HEADER = 64 * 1024
/** Each takes about 100 bytes of the header. */
const MOST_RECIPIENTS = 100

/** Readable by the holder of the identity of any recipient. Throws ToolError for a recipient that isn't one. */
export async function encrypted(
  bytes: AsyncIterable<Uint8Array>,
  recipients: readonly string[],
): Promise<AsyncIterable<Uint8Array>> {
  const encrypter = encrypterFor(recipients)
  return Readable.fromWeb((await encrypter.encrypt(webStream(bytes))) as WebStream<Uint8Array>)
}

function encrypterFor(recipients: readonly string[]): Encrypter {
  if (recipients.length > MOST_RECIPIENTS) {
    throw new ToolError(`${recipients.length} recipients are too many: name at most ${MOST_RECIPIENTS}`)
  }
  const encrypter = new Encrypter()
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient)
    } catch {
      // It may be the key itself.
      const named = recipient.startsWith('age1') ? `\`${recipient}\`` : 'what --recipient says'
      throw new ToolError(`${named} is no recipient; write the line that begins with age1 of the key file`)
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
    return Readable.fromWeb((await decrypter.decrypt(webStream(withShortHeader(bytes)))) as WebStream<Uint8Array>)
  } catch (error) {
    if (!/no identity matched/.test((error as Error).message)) throw error
    throw new ToolError(
      `no key of \`${identityFile}\` opens the archive; name its own key file (or its first bytes were changed)`,
    )
  }
}

/** Throws Error where the header has no end in the bytes that it may have. */
async function* withShortHeader(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let beginning: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of bytes) {
    if (!beginning) {
      yield chunk
      continue
    }
    beginning = Buffer.concat([beginning, chunk])
    const isWhole: boolean = beginning.subarray(0, LONGEST_HEADER).includes('\n--- ')
    if (!isWhole && beginning.length < LONGEST_HEADER) continue
    if (!isWhole) throw new Error(`its header for recipients is longer than ${LONGEST_HEADER} bytes`)
    yield beginning
    beginning = undefined
  }
  if (beginning) yield beginning
}

async function readIdentities(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch(
    refuseUnreadable({ what: 'key file', file, madeBy: 'sallyport backup key' }),
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
