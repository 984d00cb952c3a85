/** One client that follows events: its connection, and how much may wait for it. */
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Standing } from './standing.ts'
import type { StreamGroup } from './stream-group.ts'

/** Bytes that may wait for a client when the next ones come: whoever reads slower is cut off. */
const MOST_WAITING = 4 * 1024 * 1024

/** Milliseconds that a client which catches up may take for a piece. */
const PIECE_MS = 10_000

export class EventStream {
  readonly response: ServerResponse
  readonly standing: Standing
  /** Another one when the rights of the caller have changed. */
  group: StreamGroup
  #isOpen: boolean

  constructor(response: ServerResponse, standing: Standing, group: StreamGroup) {
    this.response = response
    this.standing = standing
    this.group = group
    this.#isOpen = !response.closed && !response.destroyed
    response.once('close', () => {
      this.#isOpen = false
    })
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  get callerId(): string | undefined {
    return this.standing.callerId
  }

  /** Many streams are given the same bytes, which the memory has once. */
  send(piece: Buffer | string): void {
    if (!this.#isOpen) return
    if (this.response.writableLength > MOST_WAITING) this.cutOff()
    else this.response.write(piece)
  }

  /** Resolves when the client has taken what was sent to it; a client that takes too long is cut off. */
  async taken(): Promise<void> {
    if (!this.#isOpen || !this.response.writableNeedDrain) return
    const waiting = new AbortController()
    const late = sleep(PIECE_MS, undefined, { ref: false, signal: waiting.signal }).then(
      () => this.cutOff(),
      () => undefined,
    )
    await Promise.race([new Promise((taken) => this.response.once('drain', taken).once('close', taken)), late])
    waiting.abort()
  }

  /** The client may go on with a new request. */
  end(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.response.end()
  }

  cutOff(): void {
    this.#isOpen = false
    this.response.socket?.resetAndDestroy()
    this.response.destroy()
  }
}
