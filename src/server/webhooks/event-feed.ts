/**
 * The events of a stream, one by one, for a receiver that may be slow. The stream itself is read at once, so that a
 * `reset` is known at once: what waits then is dropped, because the caller may not see it any more.
 */
import type { IncomingMessage } from 'node:http'

export interface StreamedEvent {
  /** The stream goes on after it. */
  readonly id: string
  /** `appeared`, `changed`, `gone` or `reset`; undefined where only the id is told. */
  readonly kind: string | undefined
  /** JSON. */
  readonly data: string
  /** The time of the write, which the stream has as a comment: RFC 3339. */
  readonly at: string | undefined
}

/** What may wait. Beyond that, events are left out, and the stream is opened again after the last that was taken. */
const MOST_WAITING = { events: 256, characters: 1024 * 1024 }

export class EventFeed {
  readonly #answer: IncomingMessage
  readonly #waiting: StreamedEvent[] = []
  #characters = 0
  #isOver = false
  /** Some events were left out. */
  #isFull = false
  #wake: (() => void) | undefined
  #text = ''

  constructor(answer: IncomingMessage) {
    this.#answer = answer
    answer.setEncoding('utf8').on('data', (chunk: string) => this.#read(chunk))
    for (const end of ['end', 'close', 'error']) answer.once(end, () => this.#end())
    answer.on('error', () => undefined)
  }

  /** Undefined at the end. */
  async next(): Promise<StreamedEvent | undefined> {
    while (this.#waiting.length === 0 && !this.#isOver && !this.#isFull) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const event = this.#waiting.shift()
    this.#characters -= event?.data.length ?? 0
    return event
  }

  close(): void {
    this.#answer.destroy()
    this.#waiting.length = 0
    this.#end()
  }

  #end(): void {
    this.#isOver = true
    this.#wake?.()
  }

  #read(chunk: string): void {
    const blocks = `${this.#text}${chunk}`.split('\n\n')
    this.#text = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = eventIn(block)
      if (event) this.#add(event)
    }
    this.#wake?.()
  }

  #add(event: StreamedEvent): void {
    if (event.kind === 'reset') {
      this.#waiting.length = 0
      this.#characters = 0
      this.#isFull = false
    }
    this.#isFull ||= this.#waiting.length >= MOST_WAITING.events || this.#characters > MOST_WAITING.characters
    if (this.#isFull) return
    this.#waiting.push(event)
    this.#characters += event.data.length
  }
}

/** Undefined without an id: for comments. */
function eventIn(block: string): StreamedEvent | undefined {
  const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line] as const))
  const textOf = (name: string) =>
    fields
      .get(name)
      ?.slice(name.length + 1)
      .trimStart()
  const id = textOf('id')
  if (id === undefined) return undefined
  return { id, kind: textOf('event'), data: textOf('data') ?? '', at: textOf('') }
}
