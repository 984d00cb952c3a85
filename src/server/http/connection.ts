/**
 * A connection: its requests are answered one after another, nothing is read while one waits, and it closes in two
 * steps.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Milliseconds of silence after which a connection that was closed on one side is closed on the other. */
const LINGER_MS = 1000

/**
 * A packet can hold thousands of requests. This many may wait on each connection; further ones share the room of all
 * connections.
 */
const WAITING_EACH = 16
const WAITING_TOGETHER = 3000

const connections = new WeakMap<Duplex, Connection>()

/** Must be called before anything is read from the connection. */
export function openConnection(socket: Socket): void {
  connections.set(socket, new Connection(socket))
}

export function connectionOf(socket: Duplex): Connection {
  const connection = connections.get(socket)
  if (!connection) throw new Error('the connection of a request was not registered')
  return connection
}

class Connection {
  /** On all connections. */
  static #waitingTogether = 0

  readonly #socket: Socket
  #last: ServerResponse | undefined
  #waiting = 0

  constructor(socket: Socket) {
    this.#socket = socket
    const resume = socket.resume.bind(socket)
    // Node resumes reading after each answer; while a request waits, the socket must stay paused.
    socket.resume = () => (this.#waiting > 0 ? socket : resume())
    socket.destroySoon = () => this.#closeInTwoSteps()
    socket.once('close', () => this.#count(-this.#waiting))
  }

  /** The response to the request that came last; undefined when it has ended. */
  get inFlight(): ServerResponse | undefined {
    return this.#last?.closed ? undefined : this.#last
  }

  /**
   * RFC 9112 section 9.3.2: only safe requests of one connection may overlap; this server overlaps no requests. While
   * one waits, no more are read: otherwise a client that sends faster than it reads answers would fill the memory.
   * After an answer with `Connection: close` no request starts.
   */
  take(response: ServerResponse, start: () => void): void {
    // The rest of a packet still comes after the connection was cut off: nothing of it may be kept.
    if (this.#socket.destroyed) return
    const before = this.inFlight
    this.#last = response
    if (!before) {
      if (this.#socket.writable) start()
      return
    }
    this.#count(1)
    this.#socket.pause()
    if (this.#waiting > WAITING_EACH && Connection.#waitingTogether > WAITING_TOGETHER) this.#socket.destroy()
    before.once('close', () => {
      if (!this.#socket.writable) return
      this.#count(-1)
      if (this.#waiting === 0) this.#socket.resume()
      start()
    })
  }

  #count(more: number): void {
    this.#waiting += more
    Connection.#waitingTogether += more
  }

  /**
   * RFC 9112 section 9.6: closing both ways at once resets the connection of a client that is still sending, and the
   * answer is lost with it. So its body is read to the end and discarded; the request time-out bounds this.
   */
  #closeInTwoSteps(): void {
    this.#socket.end()
    this.#socket.setTimeout(LINGER_MS, () => this.#socket.destroy())
  }
}
