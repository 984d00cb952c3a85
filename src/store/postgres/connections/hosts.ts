/**
 * The hosts that the URL of a database names: finds the one that takes writes, and connects to it; the driver knows only one
 * host for a connection. All connections of a process are on one host, so that no look-up is answered by a server that
 * another connection has left (docs/decisions/0131).
 */
import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { isLost, isReadOnly, withoutValues } from '../failures.ts'
import type { SessionTarget } from './url.ts'

/** A refused or silent server fails a request within a second. All hosts are asked at once, and each has so long. */
export const DIAL_MS = 900

/** After a search in vain. */
const PAUSE_MS = 100

/** The files of changes that a primary writes are named for its timeline; each promotion begins a later one. */
const TIMELINE = 'case when pg_is_in_recovery() then null else left(pg_walfile_name(pg_current_wal_lsn()), 8) end'

/** A new session is asked whether its server is taken, and for the timeline. */
const QUESTIONS: Readonly<Record<Exclude<SessionTarget, 'any'>, string>> = {
  'read-write': `select current_setting('transaction_read_only') = 'off', ${TIMELINE}`,
  primary: `select not pg_is_in_recovery(), ${TIMELINE}`,
}

interface HostPlace {
  readonly target: SessionTarget
  /** By host: what the driver gets. */
  readonly each: readonly pg.ClientConfig[]
}

/** Opens connections with these options of the session. */
export class Dialer {
  readonly #hosts: Hosts
  readonly #place: HostPlace
  readonly #session: pg.ClientConfig

  constructor(url: string, place: HostPlace, session: pg.ClientConfig) {
    this.#hosts = HOSTS.getOrInsertComputed(url, () => new Hosts(place.each.length))
    this.#place = place
    this.#session = session
  }

  /** `onEnd` is called when the connection ends. Rejects with the driver's errors. */
  async open(more: pg.ClientConfig = {}, onEnd: () => void = () => undefined): Promise<pg.Client> {
    await this.#find()
    const client = this.#client(this.#hosts.current, more)
    client.on('error', onEnd)
    client.on('end', onEnd)
    return client.connect()
  }

  pool(more: pg.PoolConfig): pg.Pool {
    const find = () => this.#find()
    const clientAt = (given: pg.ClientConfig) => this.#client(this.#hosts.current, given)
    const Client = function ofHost(given: pg.ClientConfig) {
      return clientAt(given)
    }
    return new HostPool({ ...this.#session, ...more, Client } as unknown as pg.PoolConfig, find)
  }

  #client(at: number, more: pg.ClientConfig): HostClient {
    const { target, each } = this.#place
    return new HostClient({ ...this.#session, ...more, ...each[at] }, { at, hosts: this.#hosts, target })
  }

  /** Undefined if a host is known. */
  #find(): Promise<void> | undefined {
    return this.#hosts.find(async () => {
      const clients = this.#place.each.map((_, at) => this.#client(at, {}))
      try {
        return await Promise.any(clients.map((client) => client.connect().then(() => client.at)))
      } catch (error) {
        throw noHost(this.#place, (error as AggregateError).errors)
      } finally {
        for (const client of clients) void client.end().catch(() => undefined)
      }
    })
  }
}

const OLD = 'it is an old primary: make it a replica, or start this process again if the database was set up anew'

/** Of one URL, what all its connections know. */
const HOSTS = new Map<string, Hosts>()

class Hosts {
  readonly #many: number
  readonly #clients = new Set<HostClient>()
  /** The place of the host in use; undefined while it is looked for. */
  #current: number | undefined
  #search: Promise<void> | undefined
  /** The latest that a server in use had. */
  #timeline = 0

  constructor(many: number) {
    this.#many = many
    this.#current = many === 1 ? 0 : undefined
  }

  get current(): number {
    return this.#current ?? 0
  }

  /** `search`: returns the place of a host that is taken. */
  find(search: () => Promise<number>): Promise<void> | undefined {
    if (this.#current !== undefined) return undefined
    this.#search ??= this.#move(search)
    return this.#search
  }

  async #move(search: () => Promise<number>): Promise<void> {
    try {
      const found = await search()
      this.#current = found
      this.#search = undefined
      for (const client of this.#clients) if (client.at !== found) client.drop()
    } catch (error) {
      // Until then, whoever asks gets the same answer: requests don't flood the hosts.
      setTimeout(() => {
        this.#search = undefined
      }, PAUSE_MS).unref()
      throw error
    }
  }

  /** Throws for a server that isn't taken. */
  admit([isTaken, timelineName]: readonly [boolean, string | null]): void {
    if (!isTaken) throw new UnfitHost('it takes no writes: it is a replica, or read-only')
    const timeline = Number.parseInt(timelineName ?? '0', 16)
    if (timeline < this.#timeline) throw new UnfitHost(OLD)
    this.#timeline = timeline
  }

  add(client: HostClient): void {
    this.#clients.add(client)
  }

  remove(client: HostClient): void {
    this.#clients.delete(client)
  }

  /** The next connection looks for a host: the one in use may be lost. */
  doubt({ at }: HostClient): void {
    if (at === this.#current && this.#many > 1) this.#current = undefined
  }

  /** What its server answers may be old: nothing of this process stays there. */
  leave({ at }: HostClient): void {
    for (const client of this.#clients) if (client.at === at) client.drop()
  }
}

interface HostOfClient {
  readonly at: number
  readonly hosts: Hosts
  readonly target: SessionTarget
}

class HostClient extends pg.Client {
  readonly #host: HostOfClient

  constructor(config: pg.ClientConfig, host: HostOfClient) {
    super(config)
    this.#host = host
    const { hosts, target } = host
    this.on('error', () => hosts.doubt(this))
    this.on('end', () => hosts.remove(this))
    connectionOf(this).on('errorMessage', (error) => {
      if (isLost(error)) hosts.doubt(this)
      if (isReadOnly(error) && target !== 'any') hosts.leave(this)
    })
  }

  get at(): number {
    return this.#host.at
  }

  override connect(): Promise<pg.Client>
  override connect(callback: (error: Error | null) => void): void
  override connect(callback?: (error: Error | null) => void): Promise<pg.Client> | undefined {
    const connected = this.#connect()
    if (callback === undefined) return connected
    connected.then(() => callback(null), callback)
    return undefined
  }

  async #connect(): Promise<pg.Client> {
    const { hosts, target } = this.#host
    const bound = setTimeout(() => this.drop(new Error('timeout expired')), DIAL_MS)
    hosts.add(this)
    try {
      await super.connect()
      if (target !== 'any') hosts.admit(await this.#answerTo(QUESTIONS[target]))
      return this
    } catch (error) {
      hosts.doubt(this)
      this.drop()
      throw error
    } finally {
      clearTimeout(bound)
    }
  }

  async #answerTo(text: string): Promise<readonly [boolean, string | null]> {
    const { rows } = await this.query<[boolean, string | null]>({ text, rowMode: 'array' })
    return rows[0] as [boolean, string | null]
  }

  /** Ends it without waiting for the server, which may be gone. */
  drop(why?: Error): void {
    streamOf(this).destroy(why)
  }
}

/** Looks for the host before it opens a connection. */
class HostPool extends pg.Pool {
  readonly #find: () => Promise<void> | undefined

  constructor(config: pg.PoolConfig, find: () => Promise<void> | undefined) {
    super(config)
    this.#find = find
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: PoolCallback): void
  override connect(callback?: PoolCallback): Promise<pg.PoolClient> | undefined {
    const found = this.#find() ?? Promise.resolve()
    const connected = found.then(() => super.connect())
    if (callback === undefined) return connected
    connected.then(
      (client) => callback(undefined, client, (...error) => client.release(...error)),
      (error) => callback(error, undefined, () => undefined),
    )
    return undefined
  }
}

type PoolCallback = Parameters<typeof pg.Pool.prototype.connect>[0]

/** Its code leads to the command that fixes it (fix-of-server.ts). */
class UnfitHost extends Error {
  readonly code = '25006'
}

function noHost({ target, each }: HostPlace, errors: readonly unknown[]): Error {
  const whys = errors.map((error, at) => `${each[at]?.host}:${each[at]?.port ?? 5432}: ${withoutValues(error).message}`)
  const fault = target === 'any' ? 'no host answers' : 'no host takes writes'
  const [first] = errors.filter((error) => !(error instanceof UnfitHost))
  return Object.assign(new Error(`${fault} (${whys.join('; ')})`), { code: codeIn(first ?? errors[0]) })
}

function codeIn(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code
}

export function streamOf(client: pg.ClientBase): Duplex {
  return connectionOf(client).stream
}

function connectionOf(client: pg.ClientBase): EventEmitter & { readonly stream: Duplex } {
  return (client as unknown as { readonly connection: EventEmitter & { readonly stream: Duplex } }).connection
}
