/** A client that follows events as docs/events.md says: it lists after each `reset`, and then applies what comes. */
import { type ClientRequest, get, type IncomingMessage } from 'node:http'

export interface HeardEvent {
  readonly kind: string
  readonly id: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the server sent
  readonly data: any
}

export interface FollowOptions {
  readonly query?: string
  readonly lastEventId?: string
  /** Whether it keeps what its list shows. */
  readonly lists?: boolean
  readonly path?: string
}

export class FollowingClient {
  readonly heard: HeardEvent[] = []
  /** By id. */
  readonly held = new Map<string, unknown>()
  lastId: string | undefined
  isEnded = false
  readonly #request: ClientRequest
  readonly #response: IncomingMessage
  readonly #list: () => Promise<readonly { readonly id: string }[]>
  readonly #options: FollowOptions
  #rest = ''
  #work = Promise.resolve()

  private constructor(
    request: ClientRequest,
    response: IncomingMessage,
    list: FollowingClient['heldByList'],
    options: FollowOptions,
  ) {
    this.#request = request
    this.#response = response
    this.#list = list
    this.#options = options
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#take(text))
    response.on('close', () => {
      this.isEnded = true
    })
    response.on('error', () => undefined)
  }

  /** `ask`: a GET with the same credentials. Throws with the answer if it isn't a stream. */
  static async open(url: string, token: string | undefined, options: FollowOptions = {}): Promise<FollowingClient> {
    const { query = '', lastEventId, path = '/parcels' } = options
    const authorization: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` }
    const headers = { ...authorization, ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }) }
    const request = get(`${url}${path}/events${query}`, { headers, agent: false })
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      request.on('response', resolve).on('error', reject),
    )
    request.on('error', () => undefined)
    if (response.statusCode !== 200) {
      const text = (await response.toArray()).join('')
      throw new Refusal(response.statusCode ?? 0, text)
    }
    const list = async () => {
      const found: { readonly id: string }[] = []
      for (let next: string | null = ''; next !== null; ) {
        const cursor: string = next === '' ? '' : `&cursor=${next}`
        const answer = await fetch(`${url}${path}?limit=200${query.replace('?', '&')}${cursor}`, {
          headers: authorization,
        })
        if (answer.status !== 200) return []
        const page = (await answer.json()) as { items: { id: string }[]; next: string | null }
        found.push(...page.items)
        next = page.next
      }
      return found
    }
    return new FollowingClient(request, response, list, options)
  }

  get status(): number | undefined {
    return this.#response.statusCode
  }

  get headers(): IncomingMessage['headers'] {
    return this.#response.headers
  }

  /** What its list shows now. */
  heldByList(): Promise<readonly { readonly id: string }[]> {
    return this.#list()
  }

  /** Resolves when everything that has come is applied. */
  async applied(): Promise<void> {
    await this.#work
  }

  pause(): void {
    this.#response.pause()
  }

  resume(): void {
    this.#response.resume()
  }

  close(): void {
    this.#request.destroy()
  }

  #take(text: string): void {
    const blocks = (this.#rest + text).split('\n\n')
    this.#rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((line) => /^([^:]*): ?(.*)$/.exec(line)?.slice(1) as [string, string]),
      )
      const id = fields.get('id')
      if (id !== undefined) this.lastId = id
      const data = fields.get('data')
      if (data === undefined) continue
      const event = { kind: fields.get('event') ?? 'message', id: id ?? '', data: JSON.parse(data) }
      this.heard.push(event)
      this.#work = this.#work.then(() => this.#apply(event))
    }
  }

  async #apply({ kind, data }: HeardEvent): Promise<void> {
    if (kind === 'gone') this.held.delete(data.id)
    else if (kind !== 'reset') this.held.set(data.id, data)
    else if (this.#options.lists !== false) {
      const objects = await this.#list()
      this.held.clear()
      for (const object of objects) this.held.set(object.id, object)
    }
  }
}

export class Refusal extends Error {
  readonly status: number

  constructor(status: number, text: string) {
    super(`${status}: ${text}`)
    this.status = status
  }
}
