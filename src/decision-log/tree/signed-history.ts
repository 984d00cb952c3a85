/** What a log has signed, checked: the chain of its keys, and its checkpoints. */
import { type HistoryEntry, readHistory } from '../../decision-log/tree/history.ts'
import { announcedKey } from '../../decision-log/tree/log-key.ts'
import {
  type Checkpoint,
  keyText,
  openNote,
  readCheckpoint,
  readKeyText,
  type VerifierKey,
} from '../../decision-log/tree/signed-note.ts'
import { ToolError } from '../load-policy.ts'

export interface SignedCheckpoint extends Checkpoint {
  readonly time: string
  readonly note: string
}

export interface SignedHistory {
  readonly origin: string
  /** Of the log, the first one first: each has signed the next one. */
  readonly keys: readonly VerifierKey[]
  /** The notes by which each key but the first was announced. */
  readonly announcements: readonly string[]
  /** With sizes that grow. */
  readonly checkpoints: readonly SignedCheckpoint[]
  /** Lines of the history that are damaged, or that no key of the log has signed. Counted from 1. */
  readonly unsigned: readonly number[]
}

/** Throws ToolError if there is no history, or no first key in it. */
export async function signedHistory(folder: string): Promise<SignedHistory> {
  const entries = await readHistory(folder).catch(() => {
    throw new ToolError(`there is no tree ${folder}: the log was written by a version that signed none, or was moved`)
  })
  const [first] = entries
  const key = first?.kind === 'key' ? readKeyText(first.key) : undefined
  if (!key) throw new ToolError(`${folder}/checkpoints doesn't begin with a key: restore it from a copy`)
  const read = new HistoryReader(key)
  entries.slice(1).forEach((entry, at) => {
    read.take(entry, at + 2)
  })
  return read
}

class HistoryReader implements SignedHistory {
  readonly keys: VerifierKey[]
  readonly announcements: string[] = []
  readonly checkpoints: SignedCheckpoint[] = []
  readonly unsigned: number[] = []
  #key: VerifierKey

  constructor(first: VerifierKey) {
    this.keys = [first]
    this.#key = first
  }

  get origin(): string {
    return this.#key.name
  }

  take(entry: HistoryEntry | undefined, line: number): void {
    if (!(entry && this.#takes(entry))) this.unsigned.push(line)
  }

  #takes(entry: HistoryEntry): boolean {
    if (entry.kind === 'checkpoint') return this.#takesCheckpoint(entry)
    const next = entry.kind === 'next-key' ? announcedKey(entry.note, this.#key) : undefined
    if (!next || entry.kind !== 'next-key') return false
    this.keys.push(next)
    this.announcements.push(entry.note)
    this.#key = next
    return true
  }

  #takesCheckpoint({ time, note }: Extract<HistoryEntry, { kind: 'checkpoint' }>): boolean {
    const found = readCheckpoint(openNote(note, this.#key) ?? '')
    if (!found || found.origin !== this.origin || found.size <= (this.checkpoints.at(-1)?.size ?? 0)) return false
    this.checkpoints.push({ ...found, time, note })
    return true
  }
}

/** `text`: as the server tells it when it begins to sign. Throws ToolError for another text. */
export function givenKey(text: string): VerifierKey {
  const key = readKeyText(text.trim())
  if (key) return key
  throw new ToolError('--key is no key of a log: write it as the server tells it when it starts, sallyport/…+…+…')
}

/** Throws ToolError unless it is one of the log's. */
export function pinnedKey(text: string, { keys, origin }: SignedHistory): VerifierKey {
  const given = keyText(givenKey(text))
  const own = keys.find((one) => keyText(one) === given)
  if (own) return own
  throw new ToolError(
    `${origin} was signed by other keys than --key: it is another log, or somebody made its tree anew`,
  )
}
