export interface StreamedEvent {
  /** As the stream has it now: an event without an id has that of the event before it. */
  readonly id: string
  /** `message` where the stream names none. */
  readonly kind: string
  readonly data: string
}

/** Reads the text of an event stream, in any pieces (HTML, section 9.2.6). */
export class EventParser {
  /** In seconds: how long a client shall wait before it connects again. */
  retry: number | undefined
  readonly #most: number
  /** A line that hasn't ended. */
  #begun = ''
  /** A line feed that comes now is no other line end. */
  #afterReturn = false
  #data = ''
  #kind = ''
  #id: string
  #lastId: string

  /** `lastId`: that of the stream before. `most`: characters of an event. */
  constructor(lastId: string, most: number) {
    this.#id = lastId
    this.#lastId = lastId
    this.#most = most
  }

  /** Where the next stream goes on: also a block without an event moves it. */
  get lastId(): string {
    return this.#lastId
  }

  /** The events that a piece completes. Throws RangeError for one that is longer than the bound. */
  *read(piece: string): Generator<StreamedEvent, void, undefined> {
    if (piece === '') return
    const [first = '', ...others] = (this.#afterReturn ? piece.replace(/^\n/, '') : piece).split(/\r\n|\r|\n/)
    this.#afterReturn = piece.endsWith('\r')
    this.#begun += first
    for (const next of others) {
      const event = this.#take(this.#begun)
      this.#begun = next
      if (event) yield event
    }
    this.#bound(this.#begun.length)
  }

  #take(line: string): StreamedEvent | undefined {
    if (line === '') return this.#dispatch()
    this.#bound(line.length)
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'data') this.#data += `${value}\n`
    else if (name === 'event') this.#kind = value
    else if (name === 'id' && !value.includes('\0')) this.#id = value
    else if (name === 'retry' && /^\d+$/.test(value)) this.retry = Number(value) / 1000
    return undefined
  }

  #dispatch(): StreamedEvent | undefined {
    const event = { id: this.#id, kind: this.#kind || 'message', data: this.#data.slice(0, -1) }
    const isEmpty = this.#data === ''
    this.#lastId = this.#id
    this.#data = ''
    this.#kind = ''
    return isEmpty ? undefined : event
  }

  #bound(more: number): void {
    if (this.#data.length + more > this.#most) throw new RangeError(`an event has more than ${this.#most} characters`)
  }
}
