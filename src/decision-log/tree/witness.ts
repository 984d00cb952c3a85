/**
 * Shows the newest checkpoint of a log to a witness: a service of somebody else that signs a checkpoint only if it goes on
 * from the last one that it has signed (https://c2sp.org/tlog-witness). So whoever cuts a log or writes it anew, with its
 * tree and its database, would have to deceive the witness, too.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { replaceFile } from '../../base/files/durable-file.ts'
import { historyEntries, readNewest } from './history.ts'
import { WITNESS_KEY } from './log-key.ts'
import { treeFolder } from './log-tree.ts'
import { readIfThere } from './read-if-there.ts'
import { type SignedCheckpoint, signedHistory } from './signed-history.ts'
import {
  base64,
  cosignedAt,
  keyText,
  readCheckpoint,
  type VerifierKey,
  verifierKey,
  withSignature,
} from './signed-note.ts'
import { TileTree } from './tiles.ts'

export interface WitnessPlace {
  /** `add-checkpoint` follows it. */
  readonly url: URL
  readonly key: VerifierKey
}

export type WitnessEvent =
  /** The witness must know this key of the log (`keyText`). */
  | { readonly kind: 'shows'; readonly key: string }
  /** The witness has signed a checkpoint of so many records. */
  | { readonly kind: 'witnessed'; readonly size: number }
  | { readonly kind: 'failing'; readonly error: unknown }

interface WitnessOptions {
  /** The decision log. */
  readonly file: string
  readonly place: WitnessPlace
  readonly report: (event: WitnessEvent) => void
  readonly everyMs?: number
}

/** The witness has signed more records than the log has. */
class LogCut extends Error {
  constructor(size: number, own: number) {
    super(`the witness has signed ${size} records, and the log has ${own}: it was cut, or is an older copy`)
    this.name = 'LogCut'
  }
}

const EVERY_MS = 60_000
const LONGEST_MS = 10_000
const LONGEST_ANSWER = 16 * 1024

export function startWitness(options: WitnessOptions): { close(): Promise<void> } {
  const shower = new CheckpointShower(options)
  let running: Promise<void> | undefined
  const round = () => {
    running ??= shower
      .round()
      .catch((error: unknown) => options.report({ kind: 'failing', error }))
      .finally(() => {
        running = undefined
      })
    return running
  }
  const timer = setInterval(round, options.everyMs ?? EVERY_MS)
  timer.unref()
  void round()
  return {
    async close() {
      clearInterval(timer)
      await running
      await round()
    },
  }
}

class CheckpointShower {
  readonly #options: WitnessOptions
  readonly #folder: string
  #key: WitnessedKey | undefined
  /** The size that the witness has signed last; undefined before it was asked. */
  #known: number | undefined

  constructor(options: WitnessOptions) {
    this.#options = options
    this.#folder = treeFolder(options.file)
  }

  async round(): Promise<void> {
    const entries = await historyEntries(this.#folder)
    const history = entries && signedHistory(entries, await readNewest(this.#folder))
    const newest = history?.checkpoints.findLast(({ isAnnouncement }) => !isAnnouncement)
    if (!newest || newest.size === this.#known) return
    this.#key ??= await this.#ownKey(newest.origin)
    this.#known ??= await this.#lastWitnessed(newest.origin)
    await this.#show(newest, this.#key)
    this.#known = newest.size
    this.#options.report({ kind: 'witnessed', size: newest.size })
  }

  /** The witness remembers what it has signed, also if this server has lost it. */
  async #show(newest: SignedCheckpoint, key: WitnessedKey): Promise<void> {
    const note = withSignature(newest.note, key.verifier, key.privateKey)
    const tree = new TileTree(this.#folder, newest.size)
    for (let old = Math.min(this.#known ?? 0, newest.size); ; ) {
      const { status, text } = await post(
        this.#options.place,
        `old ${old}\n${hashesText(tree.consistency(old))}\n${note}`,
      )
      if (status === 200) return this.#keep(`${note}${text}`, newest.size)
      const size = status === 409 ? sizeIn(text) : undefined
      if (size === undefined || size === old) throw Object.assign(new Error('it was not signed'), { code: status })
      if (size > newest.size) throw new LogCut(size, newest.size)
      old = size
    }
  }

  async #keep(note: string, size: number): Promise<void> {
    const { key } = this.#options.place
    if (cosignedAt(note, key) === undefined) throw new Error(`the answer has no signature of ${keyName(key)}`)
    if (readCheckpoint(note.slice(0, note.lastIndexOf('\n\n') + 1))?.size !== size) return
    await replaceFile(join(this.#folder, WITNESSED), note, 0o600)
  }

  async #lastWitnessed(origin: string): Promise<number> {
    const found = await readWitnessed(this.#folder, this.#options.place.key)
    return found?.origin === origin ? found.size : 0
  }

  async #ownKey(origin: string): Promise<WitnessedKey> {
    const file = join(this.#folder, WITNESS_KEY)
    const text = await readIfThere(file)
    const privateKey = text === undefined ? generateKeyPairSync('ed25519').privateKey : createPrivateKey(text)
    if (text === undefined) await replaceFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600)
    const verifier = verifierKey(origin, createPublicKey(privateKey))
    this.#options.report({ kind: 'shows', key: keyText(verifier) })
    return { verifier, privateKey }
  }
}

async function post({ url }: WitnessPlace, body: string): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(new URL('add-checkpoint', url), {
    method: 'POST',
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(LONGEST_MS),
  })
  return { status: answer.status, text: (await answer.text()).slice(0, LONGEST_ANSWER) }
}

/** How many records the witness has signed, as it says where somebody believes in another number. */
function sizeIn(text: string): number | undefined {
  return /^(?:0|[1-9]\d{0,14})\n$/.test(text) ? Number(text) : undefined
}

interface WitnessedKey {
  readonly verifier: VerifierKey
  readonly privateKey: KeyObject
}

/** The newest checkpoint that the witness has signed. */
const WITNESSED = 'witnessed'

function hashesText(proof: readonly string[]): string {
  return proof.map((one) => `${base64(one)}\n`).join('')
}

function keyName({ name, id }: VerifierKey): string {
  return `${name}+${id}`
}

interface Witnessed {
  readonly origin: string
  readonly size: number
  readonly root: string
  /** Seconds since the epoch, by the clock of the witness. */
  readonly time: number
  readonly note: string
}

/** The newest checkpoint that the witness has signed; undefined without one. */
export async function readWitnessed(folder: string, witness: VerifierKey): Promise<Witnessed | undefined> {
  const note = await readIfThere(join(folder, WITNESSED))
  const time = note === undefined ? undefined : cosignedAt(note, witness)
  if (note === undefined || time === undefined) return undefined
  const found = readCheckpoint(note.slice(0, note.lastIndexOf('\n\n') + 1))
  return found && { ...found, time, note }
}

/**
 * How many records of this log the witness has signed by now; undefined if it says nothing. It is asked by a checkpoint
 * that it has signed, as if it had signed nothing yet. Throws if it can't be reached.
 */
export async function askWitness(place: WitnessPlace, { note }: Witnessed): Promise<number | undefined> {
  // Without its own signature, as it was shown.
  const shown = note
    .split('\n')
    .filter((line) => !line.startsWith(`— ${place.key.name} `))
    .join('\n')
  const { status, text } = await post(place, `old 0\n\n${shown}`)
  return status === 409 ? sizeIn(text) : undefined
}
