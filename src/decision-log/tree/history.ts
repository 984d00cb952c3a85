/** What a log has signed, oldest first: a line of JSON for its first key, each change of its key, and checkpoints. */
import { type FileHandle, open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../../base/files/durable-file.ts'
import { isObject } from '../../base/is-object.ts'
import { readIfThere } from './read-if-there.ts'

const HISTORY = 'checkpoints'

export type HistoryEntry =
  /** The first key, as its text. */
  | { readonly time: string; readonly kind: 'key'; readonly key: string }
  /** The note with which a key announces the next one. */
  | { readonly time: string; readonly kind: 'next-key'; readonly note: string }
  | { readonly time: string; readonly kind: 'checkpoint'; readonly why: CheckpointReason; readonly note: string }

type SignedEntry = Extract<HistoryEntry, { kind: 'checkpoint' }>

export type CheckpointReason = 'time' | 'rotation' | 'stop'

/** Of the checkpoints for `time`, the last one of each minute stays; of days that are over, of each hour. */
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** Undefined for a line that is no entry. */
function entryIn(line: string): HistoryEntry | undefined {
  try {
    const entry: unknown = JSON.parse(line)
    if (!isObject(entry) || typeof entry.time !== 'string' || Number.isNaN(Date.parse(entry.time))) return undefined
    const text = entry.kind === 'key' ? entry.key : entry.note
    const isKnown = entry.kind === 'key' || entry.kind === 'next-key' || entry.kind === 'checkpoint'
    return isKnown && typeof text === 'string' ? (entry as HistoryEntry) : undefined
  } catch {
    return undefined
  }
}

/** Undefined without a history. A damaged line is undefined, too. Throws the errors of the file system. */
export async function historyEntries(folder: string): Promise<readonly (HistoryEntry | undefined)[] | undefined> {
  const text = await readIfThere(join(folder, HISTORY))
  // The last line may be one that is being written.
  return text?.split('\n').slice(0, -1).map(entryIn)
}

/** Where the newest checkpoint stands, as C2SP's tlog-tiles names it. */
const NEWEST = 'checkpoint'

/** Older than the history if a process was killed, and newer if the disk was full. Undefined before the first one. */
export async function readNewest(folder: string): Promise<SignedEntry | undefined> {
  const file = join(folder, NEWEST)
  const note = await readIfThere(file)
  if (note === undefined) return undefined
  const time = (await stat(file)).mtime.toISOString()
  return { time, kind: 'checkpoint', why: 'time', note }
}

export async function writeNewest(folder: string, note: string): Promise<void> {
  await replaceFile(join(folder, NEWEST), note, 0o600)
}

export class History {
  readonly #path: string
  #file: FileHandle
  #end: number
  /** Where the last line begins, if it is a checkpoint of this time that the next one of its minute replaces. */
  #replaceable: { readonly at: number; readonly minute: number } | undefined

  private constructor(path: string, file: FileHandle, end: number) {
    this.#path = path
    this.#file = file
    this.#end = end
  }

  /** Removes a part of a line at the end, which a killed process left. */
  static async open(folder: string): Promise<History> {
    const path = join(folder, HISTORY)
    const file = await open(path, 'a+', 0o600)
    const bytes = await file.readFile()
    const end = bytes.lastIndexOf(0x0a) + 1
    if (end < bytes.length) await file.truncate(end)
    return new History(path, file, end)
  }

  /** Resolves when the disk has it. */
  async add(entry: HistoryEntry): Promise<void> {
    const minute = Math.floor(Date.parse(entry.time) / MINUTE_MS)
    const line = Buffer.from(`${JSON.stringify(entry)}\n`)
    const at = this.#replaceable?.minute === minute ? this.#replaceable.at : this.#end
    this.#replaceable = undefined
    await this.#file.truncate(at)
    this.#end = at
    await this.#file.appendFile(line)
    await this.#file.datasync()
    this.#end += line.length
    if (entry.kind === 'checkpoint' && entry.why === 'time') this.#replaceable = { at, minute }
  }

  /** The announcement of each key has the root of its moment, so those of before need no checkpoint of each minute. */
  async thin(beforeMs: number): Promise<void> {
    const lines = (await readFile(this.#path, 'utf8')).split('\n').slice(0, -1)
    const entries = lines.map(entryIn)
    const kept = lines.filter((_, at) => !isFollowedInItsHour(entries[at], entries[at + 1], beforeMs))
    if (kept.length === lines.length) return
    const text = kept.map((line) => `${line}\n`).join('')
    await replaceFile(this.#path, text, 0o600)
    const before = this.#file
    this.#file = await open(this.#path, 'a+', 0o600)
    this.#end = Buffer.byteLength(text)
    this.#replaceable = undefined
    await before.close()
  }

  /** False once somebody has deleted the file, or put another one in its place. */
  async isInPlace(): Promise<boolean> {
    const found = await stat(this.#path).catch(() => undefined)
    return found?.ino === (await this.#file.stat()).ino
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

function isFollowedInItsHour(
  entry: HistoryEntry | undefined,
  next: HistoryEntry | undefined,
  beforeMs: number,
): boolean {
  if (entry?.kind !== 'checkpoint' || next?.kind !== 'checkpoint') return false
  const [time, nextTime] = [Date.parse(entry.time), Date.parse(next.time)]
  return nextTime < beforeMs && Math.floor(time / HOUR_MS) === Math.floor(nextTime / HOUR_MS)
}
