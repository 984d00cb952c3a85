/** What a log has signed, checked: the chain of its keys, and its checkpoints. */
import { type HistoryEntry, readNewest } from './history.ts'
import { announcedKey } from './log-key.ts'
import {
  type Checkpoint,
  checkpointIn,
  openNote,
  readCheckpoint,
  readKeyText,
  type VerifierKey,
} from './signed-note.ts'

export interface SignedCheckpoint extends Checkpoint {
  readonly time: string
  readonly note: string
  /** The key that signed it, among those of the log, from 0. */
  readonly by: number
  /** The note announces a key, too. */
  readonly isAnnouncement: boolean
}

export interface SignedHistory {
  readonly origin: string
  /** Of the log, the first one first: each has signed the next one. */
  readonly keys: readonly VerifierKey[]
  /** The notes that announced each key but the first. */
  readonly announcements: readonly string[]
  /** With sizes that don't shrink; also those that an announcement has. */
  readonly checkpoints: readonly SignedCheckpoint[]
  /** Lines of the history that are damaged, or that no key of the log has signed. Counted from 1. */
  readonly unsigned: readonly number[]
}

/** `newest`: the checkpoint that has a file of its own; it may be older. Undefined if there is no first key. */
export function signedHistory(
  entries: readonly (HistoryEntry | undefined)[],
  newest: HistoryEntry | undefined,
): SignedHistory | undefined {
  const [first] = entries
  const key = first?.kind === 'key' ? readKeyText(first.key) : undefined
  if (!key) return undefined
  const read = new HistoryReader(key)
  entries.slice(1).forEach((entry, at) => {
    if (!(entry && read.takes(entry))) read.unsigned.push(at + 2)
  })
  if (newest) read.takes(newest)
  return read
}

export interface OwnCheckpoint extends Checkpoint {
  readonly note: string
}

/** The newest checkpoint as this server wrote it: it needs no look at the signatures of a whole history. */
export async function newestCheckpoint(folder: string): Promise<OwnCheckpoint | undefined> {
  const note = (await readNewest(folder))?.note
  const found = note === undefined ? undefined : checkpointIn(note)
  return found && note !== undefined ? { ...found, note } : undefined
}

/** A checkpoint that another place kept; undefined if no key of the log has signed it. */
export function keptElsewhere(note: string, { keys, origin }: SignedHistory): Checkpoint | undefined {
  const texts = keys.map((key) => openNote(note, key)).filter((text) => text !== undefined)
  const [found] = texts.map(readCheckpoint)
  return found?.origin === origin ? found : undefined
}

class HistoryReader implements SignedHistory {
  readonly origin: string
  readonly keys: VerifierKey[]
  readonly announcements: string[] = []
  readonly checkpoints: SignedCheckpoint[] = []
  readonly unsigned: number[] = []
  #key: VerifierKey

  constructor(first: VerifierKey) {
    this.origin = first.name
    this.keys = [first]
    this.#key = first
  }

  /** False if no key of the log has signed it. */
  takes(entry: HistoryEntry): boolean {
    if (entry.kind === 'checkpoint') return this.#takesCheckpoint(entry)
    const next = entry.kind === 'next-key' ? announcedKey(entry.note, this.#key) : undefined
    if (!next || entry.kind !== 'next-key') return false
    if (!this.#goesOn(next.signed)) return false
    this.#push(next.signed, entry)
    this.keys.push(next.key)
    this.announcements.push(entry.note)
    this.#key = next.key
    return true
  }

  #takesCheckpoint(entry: Extract<HistoryEntry, { kind: 'checkpoint' }>): boolean {
    const found = readCheckpoint(openNote(entry.note, this.#key) ?? '')
    if (!found || found.origin !== this.origin || !this.#goesOn(found)) return false
    this.#push(found, entry)
    return true
  }

  /** A process that was killed, or a new key, may sign the same tree again. */
  #goesOn({ size, root }: Checkpoint): boolean {
    const newest = this.checkpoints.at(-1)
    return !newest || size > newest.size || (size === newest.size && root === newest.root)
  }

  #push(found: Checkpoint, { time, note, kind }: Exclude<HistoryEntry, { kind: 'key' }>): void {
    const isAnnouncement = kind === 'next-key'
    this.checkpoints.push({ ...found, time, note, by: this.keys.length - 1, isAnnouncement })
  }
}
