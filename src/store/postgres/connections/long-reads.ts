/**
 * Reads that may take long, each on a connection of the pool. A read ends at its bound of time, and soon after its
 * client is gone. Reads that have taken long never have all connections, and those of one caller at most half of them.
 */

import type pg from 'pg'
import { UnderWay } from '../../../base/under-way.ts'
import type { ReadBy } from '../../contract.ts'
import { ReadTooLong, TooManyReads } from '../../errors.ts'
import type { Row, SqlValue } from '../../sql/statement.ts'
import { isCancelled } from '../failures.ts'

/** Most reads take less: until then, nobody asks whether their client is gone. */
const LONG_AFTER_MS = 250

export interface LongRead {
  readonly ms: number
  readonly by: ReadBy | undefined
}

interface Settings {
  readonly pool: pg.Pool
  readonly connections: number
  /** The sessions end statements after this time; undefined where a pooler stands between. */
  readonly sessionMs: number | undefined
  /** Ends the statement that runs on this backend. */
  readonly cancel: (backend: number) => Promise<unknown>
}

export class LongReads {
  readonly #settings: Settings
  readonly #underWay: UnderWay

  constructor(settings: Settings) {
    const { connections } = settings
    const most = { ofCaller: Math.max(1, Math.floor(connections / 2)), ofAll: Math.max(1, connections - 1) }
    this.#settings = settings
    this.#underWay = new UnderWay(most, () => new TooManyReads())
  }

  /** Throws ReadTooLong, TooManyReads, the reason why `by` is gone, and what the driver throws. */
  async rows(query: pg.QueryArrayConfig, read: LongRead): Promise<readonly Row[]> {
    const client = await this.#settings.pool.connect()
    let isUsable = false
    try {
      const rows =
        read.ms === this.#settings.sessionMs
          ? await this.#watched(backendOf(client), read, () => rowsOf(client, query))
          : await this.#bounded(client, query, read)
      isUsable = true
      return rows
    } catch (error) {
      throw isCancelled(error) ? new ReadTooLong(error) : error
    } finally {
      client.release(!isUsable)
    }
  }

  /** In a transaction, which also keeps a pooler from changing the backend. */
  async #bounded(client: pg.PoolClient, query: pg.QueryArrayConfig, read: LongRead): Promise<readonly Row[]> {
    const begin = `begin read only; set local statement_timeout = ${read.ms}; select pg_backend_pid() as pid`
    const begun = (await client.query(begin)) as unknown as readonly pg.QueryResult<{ pid: number }>[]
    const rows = await this.#watched(begun.at(-1)?.rows[0]?.pid, read, () => rowsOf(client, query))
    await client.query('commit')
    return rows
  }

  async #watched<T>(backend: number | undefined, { by }: LongRead, work: () => Promise<T>): Promise<T> {
    const done = Promise.withResolvers<void>()
    let ended: Promise<unknown> | undefined
    let why: unknown
    const end = (reason: unknown) => {
      if (backend === undefined || ended) return
      why = reason
      // If it can't be ended, it ends at its bound.
      ended = this.#settings.cancel(backend).catch(ignore)
    }
    const leave = () => end(by?.gone?.().reason)
    const watch = setTimeout(() => {
      this.#underWay.run(by?.whose ?? '', () => done.promise).catch(end)
      if (by?.gone?.().aborted) leave()
      else by?.gone?.().addEventListener('abort', leave, { once: true })
    }, LONG_AFTER_MS).unref()
    try {
      return await work()
    } catch (error) {
      throw ended && isCancelled(error) ? why : error
    } finally {
      clearTimeout(watch)
      done.resolve()
      // The next statement of this connection must not be ended.
      if (ended) await ended
    }
  }
}

async function rowsOf(client: pg.PoolClient, query: pg.QueryArrayConfig): Promise<readonly Row[]> {
  return (await client.query<SqlValue[]>(query)).rows
}

/** Of a connection without a pooler. */
function backendOf(client: pg.PoolClient): number | undefined {
  return (client as unknown as { readonly processID?: number }).processID
}

function ignore(): void {}
