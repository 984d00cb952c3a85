/** Texts with signatures, as C2SP's signed-note and tlog-checkpoint define them (https://c2sp.org/signed-note). Ed25519. */
import { createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'
import { HASH_BYTES, type TreeHash } from './merkle.ts'

/** A public key with the name that it signs under. */
export interface VerifierKey {
  readonly name: string
  /** The first four bytes of a hash, as eight hexadecimal digits: finds the key, and proves nothing. */
  readonly id: string
  readonly key: KeyObject
}

/** The kinds of keys: a log's, and a witness's (https://c2sp.org/tlog-cosignature). */
const ED25519 = 1
const COSIGNATURE = 4
type KeyKind = typeof ED25519 | typeof COSIGNATURE
/** SPKI before the 32 bytes of the key (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const KEY_BYTES = 32
const ID_BYTES = 4
/** Of a note, in characters: some signatures, and a short text. */
const LONGEST_NOTE = 16 * 1024

export function verifierKey(name: string, key: KeyObject, kind: KeyKind = ED25519): VerifierKey {
  const typed = typedKey(key, kind)
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'hex').slice(0, 2 * ID_BYTES)
  return { name, id, key }
}

function typedKey(key: KeyObject, kind: KeyKind): Buffer {
  return Buffer.concat([Buffer.from([kind]), key.export({ type: 'spki', format: 'der' }).subarray(-KEY_BYTES)])
}

/** `name+id+key`, as the tools of checksum databases write it. */
export function keyText({ name, id, key }: VerifierKey): string {
  return `${name}+${id}+${typedKey(key, ED25519).toString('base64')}`
}

/** Undefined for another text. */
export function readKeyText(text: string): VerifierKey | undefined {
  return readKey(text, ED25519)
}

/** The key of a witness; undefined for another text. */
export function readWitnessKey(text: string): VerifierKey | undefined {
  return readKey(text, COSIGNATURE)
}

function readKey(text: string, kind: KeyKind): VerifierKey | undefined {
  const { name, id, bytes } =
    /^(?<name>[^+\s]+)\+(?<id>[0-9a-f]{8})\+(?<bytes>[A-Za-z0-9+/]+=*)$/.exec(text)?.groups ?? {}
  const typed = bytesOf(bytes ?? '')
  if (name === undefined || typed?.length !== 1 + KEY_BYTES || typed[0] !== kind) return undefined
  const read = verifierKey(
    name,
    createPublicKey({ key: Buffer.concat([SPKI, typed.subarray(1)]), format: 'der', type: 'spki' }),
    kind,
  )
  return read.id === id ? read : undefined
}

/** `text` ends in a line end and has no empty line at its end. */
export function signedNote(text: string, { name, id }: VerifierKey, privateKey: KeyObject): string {
  const signature = Buffer.concat([Buffer.from(id, 'hex'), sign(null, Buffer.from(text), privateKey)])
  return `${text}\n— ${name} ${signature.toString('base64')}\n`
}

/** The note with one more signature. */
export function withSignature(note: string, { name, id }: VerifierKey, privateKey: KeyObject): string {
  const signature = Buffer.concat([Buffer.from(id, 'hex'), sign(null, Buffer.from(textOf(note)), privateKey)])
  return `${note}— ${name} ${signature.toString('base64')}\n`
}

/** The text, if the key has signed it. */
export function openNote(note: string, verifier: VerifierKey): string | undefined {
  const { text, signature } = signatureIn(note, verifier) ?? {}
  if (text === undefined || !signature) return undefined
  return verify(null, Buffer.from(text), verifier.key, signature) ? text : undefined
}

const TIME_BYTES = 8

/** The note with the signature of a witness, at a time in seconds since the epoch. */
export function withCosignature(
  note: string,
  { name, key }: VerifierKey,
  { privateKey, time }: { readonly privateKey: KeyObject; readonly time: number },
): string {
  const bytes = Buffer.alloc(TIME_BYTES)
  bytes.writeBigUInt64BE(BigInt(time))
  const { id } = verifierKey(name, key, COSIGNATURE)
  const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${time}\n${textOf(note)}`), privateKey)
  const line = Buffer.concat([Buffer.from(id, 'hex'), bytes, signature]).toString('base64')
  return `${note}— ${name} ${line}\n`
}

/** The key of a log, as that of a witness of others. */
export function asWitness({ name, key }: VerifierKey): VerifierKey {
  return verifierKey(name, key, COSIGNATURE)
}

/** When a witness has signed the text, in seconds since the epoch; undefined if it hasn't. */
export function cosignedAt(note: string, witness: VerifierKey): number | undefined {
  const { text, signature } = signatureIn(note, witness) ?? {}
  if (text === undefined || signature?.length !== TIME_BYTES + SIGNATURE_BYTES) return undefined
  const time = signature.readBigUInt64BE()
  const signed = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`)
  return verify(null, signed, witness.key, signature.subarray(TIME_BYTES)) ? Number(time) : undefined
}

const SIGNATURE_BYTES = 64

/** The only signature that names the key. */
function signatureIn(
  note: string,
  { name, id }: VerifierKey,
): { readonly text: string; readonly signature: Buffer } | undefined {
  const end = note.lastIndexOf('\n\n')
  if (note.length > LONGEST_NOTE || end < 0) return undefined
  const [only, ...others] = note
    .slice(end + 2)
    .split('\n')
    .map((line) => /^— (?<by>\S+) (?<signature>[A-Za-z0-9+/]+=*)$/.exec(line)?.groups)
    .filter((found) => found?.by === name)
    .map((found) => bytesOf(found?.signature ?? ''))
    .filter((signature) => signature?.subarray(0, ID_BYTES).toString('hex') === id)
  if (only === undefined || others.length > 0) return undefined
  return { text: note.slice(0, end + 1), signature: only.subarray(ID_BYTES) }
}

export interface Checkpoint {
  /** The name of the log. */
  readonly origin: string
  readonly size: number
  readonly root: TreeHash
}

export function checkpointText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${base64(root)}\n`
}

/** Undefined for another text. */
export function readCheckpoint(text: string): Checkpoint | undefined {
  const [origin, size, root, ...rest] = text.split('\n')
  const hashed = fromBase64(root ?? '')
  const isWhole = rest.length === 1 && rest[0] === ''
  if (!origin || !/^(?:0|[1-9]\d{0,14})$/.test(size ?? '') || hashed === undefined || !isWhole) return undefined
  return { origin, size: Number(size), root: hashed }
}

/** The checkpoint of a note, whoever signed it. */
export function checkpointIn(note: string): Checkpoint | undefined {
  return note.length <= LONGEST_NOTE ? readCheckpoint(textOf(note)) : undefined
}

function textOf(note: string): string {
  return note.slice(0, note.lastIndexOf('\n\n') + 1)
}

export function base64(hashed: TreeHash): string {
  return Buffer.from(hashed, 'latin1').toString('base64')
}

/** Undefined for anything but the one text of a hash. */
export function fromBase64(text: string): TreeHash | undefined {
  const bytes = bytesOf(text)
  return bytes?.length === HASH_BYTES ? bytes.toString('latin1') : undefined
}

/** Undefined for anything but the one base64 text of its bytes. */
function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}
