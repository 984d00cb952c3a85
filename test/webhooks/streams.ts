/** A server that has a stream of events, but decides nothing: for tests of what is delivered, and when. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { StreamedEvent } from '../../src/server/webhooks/event-feed.ts'

export class TestStreams {
  readonly #events: StreamedEvent[] = []
  readonly #open = new Set<ServerResponse>()
  /** In place of a stream. */
  refusal: { readonly status: number; readonly detail: string } | undefined
  /** The tokens and positions that streams were opened with. */
  readonly asked: { readonly authorization: string | undefined; readonly after: string | undefined }[] = []

  /** Each with the next number. */
  tell(kind: string, data: object): void {
    const id = `${this.#events.length + 1}.seal`
    const event = { id, kind, data: JSON.stringify(data), at: undefined }
    this.#events.push(event)
    for (const response of this.#open) response.write(textOf(event))
  }

  readonly stages = (request: IncomingMessage, response: ServerResponse): void => {
    const after = request.headers['last-event-id']?.toString()
    this.asked.push({ authorization: request.headers.authorization, after })
    if (this.refusal) {
      const { status, detail } = this.refusal
      response.writeHead(status, { 'content-type': 'application/problem+json' })
      response.end(JSON.stringify({ code: 'token-invalid', detail }))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': \n\n')
    for (const event of this.#events.slice(Number.parseInt(after ?? '0', 10))) response.write(textOf(event))
    this.#open.add(response)
    response.once('close', () => this.#open.delete(response))
  }
}

function textOf({ id, kind, data }: StreamedEvent): string {
  return `id: ${id}\nevent: ${kind}\ndata: ${data}\n\n`
}
