/**
 * Sends each record of the log to another system, in the order of the log, at least once. It reads the file as another
 * program would, so no request waits for it, and what waits to be sent is the log itself. Its cursor is a file.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { replaceFile } from '../../base/files/durable-file.ts'
import { makeFolder } from '../../base/files/make-folder.ts'
import { type FileLock, lockFile } from '../../store/sql/file-lock.ts'
import type { LogFollower } from '../log-files.ts'
import { signedText } from '../sealed-line.ts'
import { placeAfter } from '../tree/find-place.ts'
import { leafHash, type TreeHash } from '../tree/merkle.ts'
import { BatchRefused, NotTaken, type RecordReceiver } from './record-receiver.ts'

export type LogSenderEvent =
  | { readonly kind: 'sent'; readonly records: number; readonly refused: number }
  /** It takes nothing at the moment; told once, until it works again. */
  | { readonly kind: 'failing'; readonly error: unknown }
  | { readonly kind: 'working' }
  /** The other system refuses this record for good. `why`: its answer. */
  | { readonly kind: 'refused'; readonly line: string; readonly why: string }
  /** The cursor can't be written: after a new start, records are sent again. Told once, until it is written again. */
  | { readonly kind: 'unkept'; readonly error: unknown }
  /** The log has deleted files before all of their records were sent. */
  | { readonly kind: 'gap' }

export interface LogSenderOptions {
  /** The decision log. */
  readonly file: string
  readonly receiver: RecordReceiver
  readonly report: (event: LogSenderEvent) => void
}

export interface LogSender {
  /** The time of the oldest record that waits, in milliseconds since the epoch; undefined if none does. */
  readonly waitingSince: number | undefined
  /** Sends what the log has, for a short time, and stops. */
  close(): Promise<void>
}

const MOST_LINES = 500
const MOST_CHARACTERS = 512 * 1024
const EVERY_MS = 500
const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 60_000
/** A server that stops doesn't wait for a slow collector. */
const LAST_ROUND_MS = 3000

export function startLogSender(options: LogSenderOptions): LogSender {
  const sending = new LogRounds(options)
  const closing = new AbortController()
  const end = new AbortController()
  const running = run(sending, options, { closing: closing.signal, end: end.signal })
  return {
    get waitingSince() {
      return sending.waitingSince
    },
    async close() {
      closing.abort()
      const impatience = setTimeout(() => end.abort(), LAST_ROUND_MS)
      await running
      await sending.lastRound(end.signal).catch(() => undefined)
      clearTimeout(impatience)
      await sending.close()
      options.receiver.close()
    },
  }
}

interface SendingEnds {
  /** From then on no round begins. */
  readonly closing: AbortSignal
  /** Nothing is waited for any more. */
  readonly end: AbortSignal
}

async function run(
  sending: LogRounds,
  { report, receiver }: LogSenderOptions,
  { closing, end }: SendingEnds,
): Promise<void> {
  let failures = 0
  const round = async (): Promise<number> => {
    try {
      const isMore = await sending.round(end)
      if (failures > 0) report({ kind: 'working' })
      failures = 0
      return isMore ? 0 : EVERY_MS
    } catch (error) {
      if (failures === 0 && !closing.aborted) report({ kind: 'failing', error })
      failures += 1
      receiver.close()
      await sending.failed()
      return waitAfter(error, failures)
    }
  }
  while (!closing.aborted) {
    const wait = await round()
    if (wait > 0) await sleep(wait, undefined, { signal: closing }).catch(() => undefined)
  }
}

/** In milliseconds: longer after each failure, and not the same for all instances. */
function waitAfter(error: unknown, failures: number): number {
  const backoff = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS) * (0.5 + Math.random() / 2)
  return Math.max(backoff, error instanceof NotTaken ? error.againInMs : 0)
}

interface Unsettled {
  readonly last: TreeHash
  /** `performance.now()` after which it counts as taken. */
  readonly settled: number
}

interface SentBatch {
  readonly lines: readonly string[]
  /** Whether the log may have more at once. */
  readonly isMore: boolean
}

/** One process at a time sends the records of a log. */
class LogRounds {
  readonly #options: LogSenderOptions
  readonly #folder: string
  #lock: FileLock | undefined
  #follower: LogFollower | undefined
  /** Read from the log, and not taken yet. */
  #unsent: SentBatch | undefined
  #unsettled: Unsettled[] = []
  #isCursorKept = true
  waitingSince: number | undefined

  constructor(options: LogSenderOptions) {
    this.#options = options
    this.#folder = `${options.file}.sent`
  }

  /** Whether there is more to send at once. */
  async round(signal: AbortSignal): Promise<boolean> {
    const { receiver, report } = this.#options
    this.#follower ??= await this.#open()
    if (!this.#follower) return false
    await this.#settle()
    const { lines, isMore } = this.#unsent ?? (await this.#nextLines(this.#follower))
    if (lines.length === 0) {
      if (!isMore && this.#unsettled.every(({ settled }) => settled <= performance.now())) this.waitingSince = undefined
      return isMore
    }
    this.#unsent = { lines, isMore }
    this.waitingSince = timeOf(lines[0] ?? '') ?? this.waitingSince ?? Date.now()
    const refused = await this.#deliver(lines, signal)
    this.#unsent = undefined
    report({ kind: 'sent', records: lines.length - refused, refused })
    const last = leafHash(signedText(lines.at(-1) ?? ''))
    this.#unsettled.push({ last, settled: performance.now() + receiver.settlesInMs })
    await this.#settle()
    return true
  }

  async lastRound(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.round(signal))) signal.throwIfAborted()
  }

  /** What was read is kept for the next attempt, which needn't look for its place then. */
  async failed(): Promise<void> {
    if (!this.#unsent || !this.#follower || this.#unsettled.length > 0) await this.close()
  }

  /** What isn't settled is sent again. */
  async close(): Promise<void> {
    const [follower, lock] = [this.#follower, this.#lock]
    this.#follower = undefined
    this.#lock = undefined
    this.#unsent = undefined
    this.#unsettled = []
    await follower?.[Symbol.asyncDispose]()
    await lock?.release()
  }

  /** Undefined while another process sends. */
  async #open(): Promise<LogFollower | undefined> {
    await makeFolder(this.#folder)
    this.#lock ??= await lockFile(join(this.#folder, 'lock'))
    if (!this.#lock) return undefined
    const last = await this.#readCursor()
    const { follower, hasNewest } = await placeAfter(this.#options.file, last)
    if (last !== undefined && !hasNewest) this.#options.report({ kind: 'gap' })
    return follower
  }

  async #nextLines(follower: LogFollower): Promise<SentBatch> {
    const lines: string[] = []
    for (let characters = 0; lines.length < MOST_LINES && characters < MOST_CHARACTERS; ) {
      const found = await follower.next()
      if (found === 'nothing new') return { lines, isMore: false }
      if (found === 'file was rewritten' || found === 'file was deleted') {
        // What was read is sent first; the place after it is looked for as at the start.
        await follower[Symbol.asyncDispose]()
        this.#follower = undefined
        return { lines, isMore: true }
      }
      if (typeof found === 'string') continue
      lines.push(...found)
      characters += found.reduce((sum, line) => sum + line.length, 0)
    }
    return { lines, isMore: true }
  }

  /** A batch that is refused for good is halved, until only the lines are left that cause it. Returns how many they are. */
  async #deliver(lines: readonly string[], signal: AbortSignal): Promise<number> {
    try {
      return (await this.#options.receiver.send(lines, signal)).refused
    } catch (error) {
      if (!(error instanceof BatchRefused)) throw error
      if (lines.length === 1) {
        this.#options.report({ kind: 'refused', line: lines[0] ?? '', why: error.message })
        return 1
      }
      const half = lines.length / 2
      return (await this.#deliver(lines.slice(0, half), signal)) + (await this.#deliver(lines.slice(half), signal))
    }
  }

  /** Without a cursor, sending goes on: only a new start would send again what is settled. Throws if lines may be lost. */
  async #settle(): Promise<void> {
    this.#options.receiver.check()
    const now = performance.now()
    const settled = this.#unsettled.findLast(({ settled: at }) => at <= now)
    if (!settled) return
    const error = await replaceFile(
      join(this.#folder, 'cursor'),
      Buffer.from(settled.last, 'latin1').toString('base64'),
      0o600,
    ).catch((fault: unknown) => fault ?? 'unknown')
    if (error !== undefined && this.#isCursorKept) this.#options.report({ kind: 'unkept', error })
    this.#isCursorKept = error === undefined
    const later = this.#unsettled.filter(({ settled: at }) => at > now)
    this.#unsettled = this.#isCursorKept ? later : [settled, ...later]
  }

  async #readCursor(): Promise<TreeHash | undefined> {
    const text = await readFile(join(this.#folder, 'cursor'), 'utf8').catch((error) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    return text === undefined ? undefined : Buffer.from(text, 'base64').toString('latin1')
  }
}

function timeOf(line: string): number | undefined {
  return Date.parse(/"time":"(?<time>[^"]{1,40})"/.exec(line)?.groups?.time ?? '') || undefined
}
