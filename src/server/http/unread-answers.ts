/**
 * Answers that their clients haven't read yet. Their bytes have a bound, for each caller and for all, and so has the time
 * that one may wait: clients that ask for pages and don't read them fill neither the memory nor the connections.
 */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { getHeapStatistics } from 'node:v8'
import { Problem } from '../../base/problems/problem.ts'

export interface UnreadBounds {
  /** Bytes that the answers to one caller may have waiting together. A single answer may be larger. */
  readonly eachBytes: number
  /** The same for the answers to all callers of this process. */
  readonly allBytes: number
  /** Milliseconds in which a client must take the next piece of an answer. */
  readonly pieceMs: number
  /** Bytes a second that a client must take of the whole answer, after the first `pieceMs`. */
  readonly bytesPerSecond: number
}

/** Smaller answers fit the buffers of their connections, so they aren't counted. */
const LARGE = 16 * 1024

/** What is sent: a large text as bytes, so that what is counted is what is held. */
export type AnswerBody = string | Buffer

export function answerBodyOf(text: string): AnswerBody {
  return text.length > LARGE ? Buffer.from(text) : text
}

/** Bytes that are handed to a connection at once. */
const PIECE = 64 * 1024

const RETRY_SECONDS = '5'

/** As much of the memory as an answer can hold up without harm to others. Node takes the limit of a container from it. */
export function unreadBounds(heapBytes: number = getHeapStatistics().heap_size_limit): UnreadBounds {
  const allBytes = Math.min(256 * 2 ** 20, Math.floor(heapBytes / 8))
  return { eachBytes: Math.floor(allBytes / 4), allBytes, pieceMs: 60_000, bytesPerSecond: 10_000 }
}

export class UnreadAnswers {
  readonly #bounds: UnreadBounds
  /** By holder; a holder without unread answers has no entry. */
  readonly #held = new Map<string, number>()
  #all = 0

  constructor(bounds: Partial<UnreadBounds> = {}) {
    this.#bounds = { ...unreadBounds(), ...bounds }
  }

  /** Throws Problem answers-unread for a holder who has no more room: nothing is done for further requests. */
  refuse(holder: string): void {
    if ((this.#held.get(holder) ?? 0) >= this.#bounds.eachBytes) throw answersUnread()
  }

  /** Counts an answer until it has been taken or its connection is gone. Throws Problem answers-unread. */
  hold(response: ServerResponse, holder: string, body: Buffer): void {
    if (!this.#hasRoom(holder, body.length)) throw answersUnread()
    this.keep(response, holder, body)
  }

  /** Counts an answer that can't be refused any more, because its write is stored. */
  keep(response: ServerResponse, holder: string, body: AnswerBody): void {
    if (typeof body === 'string' || response.closed) return
    const { length } = body
    this.#count(holder, length)
    // A large answer has listeners of its own, and all together are more than Node's ten.
    response.setMaxListeners(20)
    response.once('close', () => this.#count(holder, -length))
  }

  /** Ends an answer whose head is written: a large one in pieces, as its client takes them. */
  send(response: ServerResponse, body: AnswerBody | undefined): void {
    if (body === undefined || body.length <= PIECE || response.req.method === 'HEAD') {
      response.end(body)
      // Most answers are in the buffers of the system by now.
      if (response.socket?.writableLength) this.#cutOffUnread(response, body?.length ?? 0)
    } else {
      void pipeline(Readable.from(piecesOf(body)), response).catch(() => response.destroy())
      this.#cutOffUnread(response, body.length)
    }
  }

  /**
   * Whoever has nothing waiting gets one answer, whatever its size; of all together the same holds. Beyond that, nobody
   * has more waiting than is left: a few who read nothing leave as much as each of them has.
   */
  #hasRoom(holder: string, bytes: number): boolean {
    const { eachBytes, allBytes } = this.#bounds
    const held = this.#held.get(holder) ?? 0
    const left = allBytes - this.#all - bytes
    return (held === 0 || held + bytes <= Math.min(eachBytes, left)) && (this.#all === 0 || left >= 0)
  }

  #count(holder: string, bytes: number): void {
    const held = (this.#held.get(holder) ?? 0) + bytes
    if (held === 0) this.#held.delete(holder)
    else this.#held.set(holder, held)
    this.#all += bytes
  }

  /** Node's own time-out of a connection starts anew when a part of one write was taken. */
  #cutOffUnread(response: ServerResponse, length: number): void {
    const { pieceMs, bytesPerSecond } = this.#bounds
    // A mere close would leave the system to send what is in its buffers, to a client that doesn't take it.
    const cutOff = () => response.socket?.resetAndDestroy()
    const nextPiece = setTimeout(cutOff, pieceMs).unref()
    const whole = setTimeout(cutOff, pieceMs + (length / bytesPerSecond) * 1000).unref()
    response.on('drain', () => nextPiece.refresh())
    response.once('close', () => {
      clearTimeout(nextPiece)
      clearTimeout(whole)
    })
  }
}

function* piecesOf(body: AnswerBody): Generator<Buffer> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
}

function answersUnread(): Problem {
  return new Problem('answers-unread', 'Too many large answers wait for their clients; read them, then try again.', {
    headers: { 'Retry-After': RETRY_SECONDS },
  })
}
