/**
 * The logs of the instances of one database sign each other's checkpoints: each offers its newest one, and signs those of
 * others that go on from what it has signed before. What it has signed, it remembers beside its own log. So whoever cuts
 * the log of one instance, with its tree and the database, is found out by the others while they run.
 */
import { hash } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { replaceFile } from '../../base/files/durable-file.ts'
import { makeFolder } from '../../base/files/make-folder.ts'
import { isObject } from '../../base/is-object.ts'
import type { LogCosignature, LogCosignatures, LogOffer } from '../../store/contract.ts'
import { parseMembers } from '../decision-record.ts'
import { type StayingKey, stayingKey } from './log-key.ts'
import { treeFolder } from './log-tree.ts'
import { isConsistent } from './merkle.ts'
import { readIfThere } from './read-if-there.ts'
import { startRounds } from './rounds.ts'
import { newestCheckpoint, type OwnCheckpoint } from './signed-history.ts'
import {
  asWitness,
  base64,
  type Checkpoint,
  cosignedAt,
  fromBase64,
  keyText,
  openNote,
  readCheckpoint,
  readKeyText,
  type VerifierKey,
} from './signed-note.ts'
import { TileTree, UnusableTile } from './tiles.ts'

/** A log that this instance doesn't sign, because it doesn't go on from what was signed of it. */
export interface RefusedLog {
  readonly log: string
  readonly why: string
}

export type CosignerEvent =
  | {
      readonly kind: 'round'
      /** By what the others show now. The own log, too, if it isn't what they have signed. */
      readonly refused: readonly RefusedLog[]
      /** The largest number of records of this log that another instance has signed; 0 before the first one. */
      readonly cosigned: number
    }
  | { readonly kind: 'failing'; readonly error: unknown }

interface CosignerOptions {
  /** The decision log. */
  readonly file: string
  readonly database: LogCosignatures
  readonly now: () => Date
  /** Whether this process keeps the tree: of several that share a log, one signs. */
  readonly keepsTree: () => boolean
  readonly report: (event: CosignerEvent) => void
  readonly everyMs?: number
}

const EVERY_MS = 60_000

/** As the trees of logs are named. */
const LOG_NAME = /^sallyport\/(?<instance>[\w.:-]{1,200})\/[0-9a-f]{16}$/
/** In characters. */
const LONGEST_NAME = 300
/** Two signatures take 400. */
const LONGEST_NOTE = 4096
/** Sizes from which an offer proves how it goes on. With a thousand million records, such a proof has 1.4 kB. */
const MOST_PROOFS = 32
/** Logs that one instance remembers. More would be somebody's who fills its disk. */
const MOST_SEEN = 1000
/** So many offers in a row that prove nothing are no coincidence. */
const MOST_UNPROVEN = 3
/** The database forgets what nobody has offered for thirty days. */
const OFFER_AGAIN_MS = 86_400_000
const FOREIGN =
  'the database has an entry in its name that its key has not signed: somebody else wrote it, or its witness-key.pem was lost'
const FORGOTTEN_AFTER_MS = 90 * 86_400_000

interface CheckpointOffer {
  /** The key that stays, as its text. */
  readonly key: string
  readonly note: string
  /** By the size of the beginning, in base64. */
  readonly proofs: Readonly<Record<string, readonly string[]>>
}

export function startCosigner(options: CosignerOptions): { close(): Promise<void> } {
  const cosigner = new Cosigner(options)
  return startRounds({
    round: () => cosigner.round(),
    failed: (error) => options.report({ kind: 'failing', error }),
    everyMs: options.everyMs ?? EVERY_MS,
  })
}

/** Where an instance remembers what it has signed of others: not in its tree, which may be put aside. */
function seenFolder(log: string): string {
  return `${log}.seen`
}

class Cosigner {
  readonly #options: CosignerOptions
  readonly #folder: string
  readonly #seen: SeenLogs
  /** What this process last wrote of each log: the database may have lost it. */
  readonly #written = new Map<string, string>()
  /** By log: the last offer that proved nothing, and how many there were in a row. */
  readonly #unproven = new Map<string, { readonly text: string; readonly count: number }>()
  /** When the database shall know that the log is still there, milliseconds since the epoch. */
  #offerAgain = 0

  constructor(options: CosignerOptions) {
    this.#options = options
    this.#folder = treeFolder(options.file)
    this.#seen = new SeenLogs(seenFolder(options.file))
  }

  async round(): Promise<void> {
    const newest = this.#options.keepsTree() ? await newestCheckpoint(this.#folder) : undefined
    if (!newest) return
    const key = await stayingKey(this.#folder, newest.origin)
    const offers = await this.#options.database.offers()
    const own = offers.find(({ log }) => log === newest.origin)
    const others = offers.filter(({ log }) => log !== newest.origin)
    const signed = await this.#signedOf(key)
    const offered = own && checkpointBy(key.verifier, offerIn(own.text)?.note)
    const doubt = this.#doubtOf(newest, [...(offered ? [offered] : []), ...signed.map(({ checkpoint }) => checkpoint)])
    const refused: RefusedLog[] = []
    if (own && !offered) refused.push({ log: newest.origin, why: FOREIGN })
    // Nobody would sign it, and what stands there shows what it was.
    if (doubt === undefined) await this.#offer(newest, key, { signed, own })
    else refused.push({ log: newest.origin, why: doubt })
    for (const offer of others) {
      const why = await this.#sign(offer, key)
      if (why !== undefined) refused.push({ log: offer.log.slice(0, LONGEST_NAME), why })
      // Requests go first.
      await setImmediate()
    }
    const names = others.map(({ log }) => log)
    await this.#seen.forget(names, this.#options.now().getTime() - FORGOTTEN_AFTER_MS)
    this.#options.report({ kind: 'round', refused, cosigned: await this.#cosignedOf(signed) })
  }

  /** Only what this log has signed itself counts: anybody could have written something else there. */
  async #signedOf({ verifier }: StayingKey): Promise<readonly SignedByOther[]> {
    const signed: SignedByOther[] = []
    for (const { by, note } of await this.#options.database.cosignaturesOf(verifier.name)) {
      const checkpoint = checkpointBy(verifier, note)
      if (checkpoint) signed.push({ by, note, checkpoint })
      await setImmediate()
    }
    return signed
  }

  /** Why this log isn't what was offered and signed of it: it was cut, or another server has a copy of it. */
  #doubtOf(newest: OwnCheckpoint, known: readonly Checkpoint[]): string | undefined {
    const tree = new TileTree(this.#folder, newest.size)
    const other = known.find((one) => one.size > newest.size || !hasRoot(tree, one))
    return (
      other &&
      `it has ${newest.size} records, and the database has ${other.size} signed ones that are not its beginning: it was cut or written anew, is an older copy, or another server has a copy of it`
    )
  }

  /** With a proof for each size that somebody has signed. */
  async #offer(
    newest: OwnCheckpoint,
    { verifier, note }: StayingKey,
    { signed, own }: { readonly signed: readonly SignedByOther[]; readonly own: LogOffer | undefined },
  ): Promise<void> {
    const tree = new TileTree(this.#folder, newest.size)
    // Those of instances that are gone come last.
    const sizes = [...new Set(signed.map(({ checkpoint }) => checkpoint.size))].sort((a, b) => b - a)
    const proofs: Record<string, readonly string[]> = {}
    for (const size of sizes.slice(0, MOST_PROOFS)) {
      const proof = proofFor(tree, size)
      if (proof) proofs[size] = proof.map(base64)
      await setImmediate()
    }
    const text = JSON.stringify({ key: keyText(verifier), note: note(newest.note), proofs } satisfies CheckpointOffer)
    if (text !== own?.text || this.#options.now().getTime() >= this.#offerAgain) {
      await this.#options.database.offer(newest.origin, text)
      this.#offerAgain = this.#options.now().getTime() + OFFER_AGAIN_MS
    }
  }

  /** Why this instance doesn't sign what another log offers; undefined if it does, or has. */
  async #sign({ log, text }: LogOffer, own: StayingKey): Promise<string | undefined> {
    const offer = offerIn(text)
    if (!offer || instanceOf(log) === undefined) return 'what stands in the database in its name is no offer of a log'
    const seen = await this.#seen.of(log)
    if (seen === 'damaged') return `what this instance has signed of it is damaged: delete ${this.#seen.fileOf(log)}`
    const key = seen?.key ?? offeredKey(log, text)
    const offered = key && checkpointBy(key, offer.note)
    if (!key || !offered) return 'its key has not signed what it offers'
    if (!seen) return this.#cosign(offer, { log, key, own })
    const last = seen.checkpoint
    if (offered.size === last.size && offered.root === last.root) return this.#keepWritten(log, own, seen.note)
    const proof = offered.size > last.size ? proofFrom(offer, last) : []
    if (!proof) return this.#askAgain({ log, text }, own, seen)
    if (isConsistent(last, offered, proof)) return this.#cosign(offer, { log, key, own })
    return `it offers ${offered.size} records, and this instance has signed ${last.size} that are not its beginning: it was cut or written anew, or is an older copy`
  }

  /** First it remembers, so it never signs anything else. */
  async #cosign(
    { note }: CheckpointOffer,
    { log, key, own }: { readonly log: string; readonly key: VerifierKey; readonly own: StayingKey },
  ): Promise<string | undefined> {
    const time = Math.max(0, Math.floor(this.#options.now().getTime() / 1000))
    const signed = own.cosigned(withSignaturesBy(log, note), time)
    if (!(await this.#seen.remember(log, key, signed))) {
      return `this instance has signed ${MOST_SEEN} logs and signs no other one: somebody may have written logs that don't exist`
    }
    this.#unproven.delete(log)
    return this.#keepWritten(log, own, signed)
  }

  async #keepWritten(log: string, { verifier }: StayingKey, note: string): Promise<undefined> {
    if (this.#written.get(log) === note) return
    await this.#options.database.cosign(log, verifier.name, note)
    this.#written.set(log, note)
  }

  /** It was offered before this instance signed, or somebody has deleted what this one has signed: the next one fits. */
  async #askAgain({ log, text }: LogOffer, own: StayingKey, seen: SeenLog): Promise<string | undefined> {
    this.#written.delete(log)
    await this.#keepWritten(log, own, seen.note)
    const before = this.#unproven.get(log)
    const count = (before?.count ?? 0) + Number(before?.text !== text)
    this.#unproven.set(log, { text, count })
    return count < MOST_UNPROVEN
      ? undefined
      : `it doesn't prove that it goes on from the ${seen.checkpoint.size} records that this instance has signed: it was written anew, or has deleted them meanwhile; then delete ${this.#seen.fileOf(log)}`
  }

  /** By instances that this one knows. */
  async #cosignedOf(signed: readonly SignedByOther[]): Promise<number> {
    let most = 0
    for (const { by, note, checkpoint } of signed) {
      const known = checkpoint.size > most ? await this.#seen.of(by) : undefined
      if (known && known !== 'damaged' && cosignedAt(note, asWitness(known.key)) !== undefined) most = checkpoint.size
    }
    return most
  }
}

/** What another instance has signed of this log. */
interface SignedByOther extends LogCosignature {
  readonly checkpoint: Checkpoint
}

/** Undefined if this key hasn't signed it. */
function checkpointBy(key: VerifierKey, note: string | undefined): Checkpoint | undefined {
  const found = note === undefined ? undefined : readCheckpoint(openNote(note, key) ?? '')
  return found?.origin === key.name ? found : undefined
}

/** A proof that can't be made any more is left out: the hashes of a file are deleted with it. */
function proofFor(tree: TileTree, size: number): readonly string[] | undefined {
  try {
    return size <= tree.size ? tree.consistency(size) : undefined
  } catch (error) {
    if (error instanceof UnusableTile) return undefined
    throw error
  }
}

/** Of a beginning whose hashes are deleted, nothing can be said. */
function hasRoot(tree: TileTree, { size, root }: Checkpoint): boolean {
  try {
    return tree.root(size) === root
  } catch (error) {
    if (error instanceof UnusableTile) return true
    throw error
  }
}

/** The note without what others have written below it. */
function withSignaturesBy(log: string, note: string): string {
  const end = note.lastIndexOf('\n\n') + 2
  const lines = note.slice(end).split('\n')
  return `${note.slice(0, end)}${lines.flatMap((line) => (line.startsWith(`— ${log} `) ? [`${line}\n`] : [])).join('')}`
}

interface SeenLog {
  readonly key: VerifierKey
  readonly note: string
  readonly checkpoint: Checkpoint
}

const KEY_SUFFIX = '.key'

/** What this instance has signed of other logs: two files for each. */
class SeenLogs {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  fileOf(log: string): string {
    return join(this.#folder, nameOf(log))
  }

  async of(log: string): Promise<SeenLog | 'damaged' | undefined> {
    const note = await readIfThere(this.fileOf(log))
    if (note === undefined) return undefined
    const key = readKeyText((await readIfThere(`${this.fileOf(log)}${KEY_SUFFIX}`))?.trim() ?? '')
    const checkpoint = key && checkpointBy(key, note)
    return key?.name === log && checkpoint ? { key, note, checkpoint } : 'damaged'
  }

  /** False if it remembers too many others. */
  async remember(log: string, key: VerifierKey, note: string): Promise<boolean> {
    await makeFolder(this.#folder)
    const names = await this.#names()
    if (names.length >= MOST_SEEN && !names.includes(nameOf(log))) return false
    await replaceFile(`${this.fileOf(log)}${KEY_SUFFIX}`, `${keyText(key)}\n`, 0o600)
    await replaceFile(this.fileOf(log), note, 0o600)
    return true
  }

  /** Those that nobody offers any more, since this time. */
  async forget(offered: readonly string[], beforeMs: number): Promise<void> {
    const kept = new Set(offered.map(nameOf))
    for (const name of await this.#names()) {
      const file = join(this.#folder, name)
      if (kept.has(name) || (await stat(file)).mtimeMs >= beforeMs) continue
      await rm(file, { force: true })
      await rm(`${file}${KEY_SUFFIX}`, { force: true })
    }
  }

  async #names(): Promise<readonly string[]> {
    const names = await readdir(this.#folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    return names.filter((name) => /^[0-9a-f]{16}$/.test(name))
  }
}

function nameOf(log: string): string {
  return hash('sha256', log, 'hex').slice(0, 16)
}

/** Undefined for another text. */
function offerIn(text: string): CheckpointOffer | undefined {
  const { key, note, proofs } = parseMembers(text) ?? {}
  if (typeof key !== 'string' || typeof note !== 'string' || !isObject(proofs)) return undefined
  return note.length <= LONGEST_NOTE ? { key, note, proofs: proofs as CheckpointOffer['proofs'] } : undefined
}

/** The key that stays, as the log itself has written it; undefined for another text. */
export function offeredKey(log: string, text: string): VerifierKey | undefined {
  const key = instanceOf(log) === undefined ? undefined : readKeyText(offerIn(text)?.key ?? '')
  return key?.name === log ? key : undefined
}

/** The checkpoint that a log shows, if its own key has signed it. */
export function offeredCheckpoint({ log, text }: LogOffer): Checkpoint | undefined {
  const key = offeredKey(log, text)
  return key && checkpointBy(key, offerIn(text)?.note)
}

/** The name of the instance in that of its log; undefined if no log is named so. */
export function instanceOf(log: string): string | undefined {
  return LOG_NAME.exec(log)?.groups?.instance
}

function proofFrom({ proofs }: CheckpointOffer, { size }: Checkpoint): readonly string[] | undefined {
  const found: unknown = Object.hasOwn(proofs, size) ? proofs[size] : undefined
  const proof = Array.isArray(found)
    ? found.map((one) => (typeof one === 'string' ? fromBase64(one) : undefined))
    : [undefined]
  return proof.includes(undefined) ? undefined : proof.map((one) => one ?? '')
}
