/**
 * Shows the newest checkpoint of a log to a witness: a service of somebody else that signs a checkpoint only if it goes on
 * from the last one that it has signed (https://c2sp.org/tlog-witness). So whoever cuts a log or writes it anew, with its
 * tree and its database, would have to deceive the witness, too.
 */
import { join } from 'node:path'
import { replaceFile } from '../../base/files/durable-file.ts'
import { type StayingKey, stayingKey, stayingVerifier } from './log-key.ts'
import { treeFolder } from './log-tree.ts'
import { readIfThere } from './read-if-there.ts'
import { startRounds } from './rounds.ts'
import { newestCheckpoint, type OwnCheckpoint } from './signed-history.ts'
import { base64, checkpointIn, cosignedAt, keyText, type VerifierKey } from './signed-note.ts'
import { TileTree, UnusableTile } from './tiles.ts'

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
  /** Whether this process keeps the tree: of several that share a log, one shows it. */
  readonly keepsTree: () => boolean
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
/** In bytes; the answer is a signature. */
const LONGEST_ANSWER = 16 * 1024
/** The first one may name a size that the server has lost, and another server may have shown more since. */
const MOST_ATTEMPTS = 3

export function startWitness(options: WitnessOptions): { close(): Promise<void> } {
  const shower = new CheckpointShower(options)
  return startRounds({
    round: (signal) => shower.round(signal),
    failed: (error) => options.report({ kind: 'failing', error }),
    everyMs: options.everyMs ?? EVERY_MS,
  })
}

class CheckpointShower {
  readonly #options: WitnessOptions
  readonly #folder: string
  #key: StayingKey | undefined
  /** The size that the witness has signed last, as far as this server knows. */
  #known = 0
  /** The size that this process has shown last: each start asks, too. */
  #shown: number | undefined

  constructor(options: WitnessOptions) {
    this.#options = options
    this.#folder = treeFolder(options.file)
  }

  async round(signal: AbortSignal): Promise<void> {
    const newest = this.#options.keepsTree() ? await newestCheckpoint(this.#folder) : undefined
    if (!newest) return
    if (this.#key?.verifier.name !== newest.origin) await this.#begin(newest.origin)
    if (newest.size === this.#shown || !this.#key) return
    await this.#show(newest, this.#key, signal)
    this.#known = newest.size
    this.#shown = newest.size
    this.#options.report({ kind: 'witnessed', size: newest.size })
  }

  /** Also when a new tree begins in place of one that was damaged. */
  async #begin(origin: string): Promise<void> {
    this.#key = await stayingKey(this.#folder, origin)
    this.#known = await this.#lastWitnessed(origin)
    this.#shown = undefined
    this.#options.report({ kind: 'shows', key: keyText(this.#key.verifier) })
  }

  /** The witness remembers what it has signed, also if this server has lost it. */
  async #show(newest: OwnCheckpoint, { note }: StayingKey, signal: AbortSignal): Promise<void> {
    const shown = note(newest.note)
    const tree = new TileTree(this.#folder, newest.size)
    let old = Math.min(this.#known, newest.size)
    for (let attempts = 0; attempts < MOST_ATTEMPTS; attempts++) {
      const body = `old ${old}\n${goesOnFrom(tree, old)}\n${shown}`
      const { status, text } = await post(this.#options.place, body, signal)
      if (status === 200) return this.#keep(shown, text)
      const size = status === 409 ? sizeIn(text) : undefined
      if (size === undefined || size === old) throw Object.assign(new Error('it was not signed'), { code: status })
      if (size > newest.size) throw new LogCut(size, newest.size)
      old = size
    }
    throw new Error('the witness names another number of records each time')
  }

  /** Of the answer, only the signature of the witness itself. */
  async #keep(shown: string, answer: string): Promise<void> {
    const { key } = this.#options.place
    const line = answer.split('\n').find((one) => one.startsWith(`— ${key.name} `))
    const note = `${shown}${line}\n`
    if (cosignedAt(note, key) === undefined) throw new Error(`the answer has no signature of ${keyName(key)}`)
    await replaceFile(join(this.#folder, WITNESSED), note, 0o600)
  }

  async #lastWitnessed(origin: string): Promise<number> {
    const found = await readWitnessed(this.#folder, this.#options.place.key)
    return found?.origin === origin ? found.size : 0
  }
}

async function post(
  { url }: WitnessPlace,
  body: string,
  signal?: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(new URL('add-checkpoint', url), {
    method: 'POST',
    body,
    redirect: 'error',
    signal: AbortSignal.any([AbortSignal.timeout(LONGEST_MS), ...(signal ? [signal] : [])]),
  })
  let text = ''
  for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part
    // Leaving the loop ends the connection.
    if (text.length > LONGEST_ANSWER) throw new Error('its answer is too long')
  }
  return { status: answer.status, text }
}

/** How many records the witness has signed, as it says where somebody believes in another number. */
function sizeIn(text: string): number | undefined {
  return /^(?:0|[1-9]\d{0,14})\n$/.test(text) ? Number(text) : undefined
}

/** The newest checkpoint that the witness has signed. */
const WITNESSED = 'witnessed'

/** The proof that the tree goes on from what the witness has signed, each hash in a line. */
function goesOnFrom(tree: TileTree, old: number): string {
  try {
    const proof = tree.consistency(old)
    return proof.map((one) => `${base64(one)}\n`).join('')
  } catch (error) {
    if (!(error instanceof UnusableTile)) throw error
    throw new Error(`it has signed ${old} records, and the hashes that prove what came after are deleted or damaged`)
  }
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
  const found = checkpointIn(note)
  return found && { ...found, time, note }
}

/**
 * How many records of this log the witness has signed by now; undefined where no server has shown it to a witness. It is
 * asked by a checkpoint that it has signed, or else by the newest one, as if it had signed nothing yet. Throws if it can't
 * be reached, or names no number.
 */
export async function askWitness(
  place: WitnessPlace,
  folder: string,
  seen: Witnessed | undefined,
): Promise<number | undefined> {
  const note = seen?.note ?? (await shownNote(folder))
  if (note === undefined) return undefined
  // Without its own signature, as it was shown.
  const lines = note.split('\n').filter((line) => !line.startsWith(`— ${place.key.name} `))
  const { status, text } = await post(place, `old 0\n\n${lines.join('\n')}`)
  const size = status === 409 ? sizeIn(text) : undefined
  if (size === undefined) throw Object.assign(new Error('it names no number'), { code: status })
  return size
}

async function shownNote(folder: string): Promise<string | undefined> {
  const newest = await newestCheckpoint(folder)
  const isKeyThere = newest && (await stayingVerifier(folder, newest.origin))
  return isKeyThere && (await stayingKey(folder, newest.origin)).note(newest.note)
}
