/** One client that follows events: its connection, how much may wait for it, and how it ends. */
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FollowedRecord } from '../../decision-log/decision-record.ts'
import type { Standing, StandingEnd } from './standing.ts'
import type { EventPiece, StreamGroup } from './stream-group.ts'

/** Bytes that may wait for a client when the next ones come: whoever reads slower is cut off. */
const MOST_WAITING = 4 * 1024 * 1024

/** Milliseconds that a client which catches up may take for a piece. */
const PIECE_MS = 10_000

/** `refused`: the problem that the next request of the caller would get. */
export interface StreamEnd extends Pick<StandingEnd, 'reason'> {
  readonly problem: StandingEnd['problem'] | undefined
  readonly followed: FollowedRecord
}

export class EventStream {
  readonly response: ServerResponse
  readonly standing: Standing
  /** Another one when the rights of the caller have changed. */
  group: StreamGroup
  readonly #begun = performance.now()
  readonly #ended: (end: StreamEnd) => void
  #events = 0
  #isOpen = true

  /** `ended`: called once. */
  constructor(response: ServerResponse, standing: Standing, group: StreamGroup, ended: (end: StreamEnd) => void) {
    this.response = response
    this.standing = standing
    this.group = group
    this.#ended = ended
    if (response.closed || response.destroyed) this.#close('client')
    else response.once('close', () => this.#close('client'))
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  get callerId(): string | undefined {
    return this.standing.callerId
  }

  /** Many streams are given the same bytes, which the memory has once. */
  tell({ bytes, events }: EventPiece): void {
    this.send(bytes)
    if (this.#isOpen) this.#events += events
  }

  /** What is no event. */
  send(bytes: Buffer | string): void {
    if (!this.#isOpen) return
    if (this.response.writableLength > MOST_WAITING) this.cutOff('slow')
    else this.response.write(bytes)
  }

  /** Resolves when the client has taken what was sent to it; a client that takes too long is cut off. */
  async taken(): Promise<void> {
    if (!this.#isOpen || !this.response.writableNeedDrain) return
    const waiting = new AbortController()
    const late = sleep(PIECE_MS, undefined, { ref: false, signal: waiting.signal }).then(
      () => this.cutOff('slow'),
      () => undefined,
    )
    await Promise.race([new Promise((taken) => this.response.once('drain', taken).once('close', taken)), late])
    waiting.abort()
  }

  /** The client may go on with a new request. */
  end(how: 'hour' | 'stop' | StandingEnd): void {
    if (this.#close(how)) this.response.end()
  }

  cutOff(how: 'slow' | 'failed'): void {
    this.#close(how)
    this.response.socket?.resetAndDestroy()
    this.response.destroy()
  }

  /** Whether it was open. */
  #close(how: Exclude<FollowedRecord['end'], 'refused'> | StandingEnd): boolean {
    if (!this.#isOpen) return false
    this.#isOpen = false
    const [end, why] = typeof how === 'string' ? [how, undefined] : (['refused', how] as const)
    const seconds = Math.round((performance.now() - this.#begun) / 1000)
    this.#ended({ followed: { end, events: this.#events, seconds }, problem: why?.problem, reason: why?.reason })
    return true
  }
}
