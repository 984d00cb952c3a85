/**
 * The key that signs the checkpoints of one log. It is replaced each day: the old key signs the new one and is erased, so
 * whoever reads the key of today can't sign what was yesterday.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile, syncDirectory } from '../../base/files/durable-file.ts'
import { readIfThere } from './read-if-there.ts'
import {
  type Checkpoint,
  checkpointText,
  keyText,
  openNote,
  readCheckpoint,
  readKeyText,
  signedNote,
  type VerifierKey,
  verifierKey,
  withCosignature,
  withSignature,
} from './signed-note.ts'

const KEY = 'key.pem'
const NEXT_KEY = 'next-key.pem'
/** It stays, other than the others, because a witness knows one key of a log. So do the other instances. */
const WITNESS_KEY = 'witness-key.pem'

export interface LogKey {
  readonly verifier: VerifierKey
  sign(text: string): string
}

/** A new key for a log of this name. */
export async function makeKey(folder: string, origin: string): Promise<LogKey> {
  return signerOf(origin, await writeKey(join(folder, KEY)))
}

/** Undefined without a key, and for another text. `announced`: the newest key in the history (`keyText`). */
export async function readKey(folder: string, origin: string, announced: string): Promise<LogKey | undefined> {
  const next = await keyIn(join(folder, NEXT_KEY))
  // The process ended between the announcement and the change.
  if (next && keyText(signerOf(origin, next).verifier) === announced) await takeNext(folder)
  else await rm(join(folder, NEXT_KEY), { force: true })
  const key = await keyIn(join(folder, KEY))
  const signer = key && signerOf(origin, key)
  return signer && keyText(signer.verifier) === announced ? signer : undefined
}

/**
 * `announce` takes a note with the new key and the tree of this moment, signed by the old key: whoever reads the new key
 * later must keep to that tree. Then the old one is erased.
 */
export async function changeKey(
  folder: string,
  { verifier: { name }, sign }: LogKey,
  signed: Omit<Checkpoint, 'origin'>,
  announce: (note: string) => Promise<void>,
): Promise<LogKey> {
  const next = signerOf(name, await writeKey(join(folder, NEXT_KEY)))
  const tree = checkpointText({ ...signed, origin: nextKeyTitle(name) })
  await announce(sign(`${tree}${keyText(next.verifier)}\n`))
  await takeNext(folder)
  return next
}

interface Announcement {
  readonly key: VerifierKey
  /** The tree when the key began. */
  readonly signed: Checkpoint
}

/** The key that stays. */
export interface StayingKey {
  readonly verifier: VerifierKey
  /** The note with its signature, too. */
  note(note: string): string
  /** The note with its signature as a witness of another log, at a time in seconds since the epoch. */
  cosigned(note: string, time: number): string
}

/** Made at the first call. */
export async function stayingKey(folder: string, origin: string): Promise<StayingKey> {
  const file = join(folder, WITNESS_KEY)
  const privateKey = (await keyIn(file)) ?? (await writeKey(file))
  const verifier = verifierKey(origin, createPublicKey(privateKey))
  return {
    verifier,
    note: (note) => withSignature(note, verifier, privateKey),
    cosigned: (note, time) => withCosignature(note, verifier, { privateKey, time }),
  }
}

/** Undefined before the server has made it. */
export async function stayingVerifier(folder: string, origin: string): Promise<VerifierKey | undefined> {
  const key = await keyIn(join(folder, WITNESS_KEY))
  return key && verifierKey(origin, createPublicKey(key))
}

/** A tree that is put aside signs nothing any more. */
export async function removeKeys(folder: string): Promise<void> {
  for (const name of [KEY, NEXT_KEY, WITNESS_KEY]) await rm(join(folder, name), { force: true })
}

/** The key that this note announces; undefined if the key before it hasn't signed it. */
export function announcedKey(note: string, before: VerifierKey): Announcement | undefined {
  const [title, size, root, text, ...rest] = openNote(note, before)?.split('\n') ?? []
  const key = rest.join('') === '' ? readKeyText(text ?? '') : undefined
  const signed = readCheckpoint(`${before.name}\n${size}\n${root}\n`)
  return title === nextKeyTitle(before.name) && key?.name === before.name && signed ? { key, signed } : undefined
}

/** The first line of a checkpoint is the name of its log, so no note is both. */
function nextKeyTitle(origin: string): string {
  return `${origin}/next-key`
}

function signerOf(origin: string, privateKey: KeyObject): LogKey {
  const verifier = verifierKey(origin, createPublicKey(privateKey))
  return { verifier, sign: (text) => signedNote(text, verifier, privateKey) }
}

async function writeKey(file: string): Promise<KeyObject> {
  const { privateKey } = generateKeyPairSync('ed25519')
  await replaceFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600)
  return privateKey
}

async function keyIn(file: string): Promise<KeyObject | undefined> {
  const text = await readIfThere(file)
  try {
    const key = createPrivateKey(text ?? '')
    return key.asymmetricKeyType === 'ed25519' ? key : undefined
  } catch {
    return undefined
  }
}

async function takeNext(folder: string): Promise<void> {
  await rename(join(folder, NEXT_KEY), join(folder, KEY))
  await syncDirectory(folder)
}
