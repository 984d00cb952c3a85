/** The outbox: decision records that committed with their writes, until they are in the decision log. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Kysely, sql } from 'kysely'
import type { Outbox, OutboxRecord } from './contract.ts'
import type { GroupCommits } from './sqlite-commits.ts'
import { answering } from './sqlite-errors.ts'
import type { Tables } from './sqlite-schema.ts'

const HOLD_MS = 1000
/** The name of the one lease there is. */
const OUTBOX = 'outbox'

export class SqliteOutbox implements Outbox {
  readonly #add: StatementSync
  readonly #waiting: StatementSync
  readonly #shipped: StatementSync
  readonly #hold: StatementSync
  readonly #release: StatementSync
  readonly #commits: GroupCommits
  readonly #now: () => Date
  /** Milliseconds since the epoch. */
  #heldUntil = 0

  constructor(db: Kysely<Tables>, database: DatabaseSync, commits: GroupCommits, now: () => Date) {
    const queries = compile(db)
    this.#commits = commits
    this.#now = now
    this.#add = database.prepare(queries.add)
    this.#waiting = database.prepare(queries.waiting)
    this.#shipped = database.prepare(queries.shipped)
    this.#hold = database.prepare(queries.hold)
    this.#release = database.prepare(queries.release)
  }

  /** Belongs into the transaction of the write that the record is about. */
  add(record: string): void {
    this.#add.run(record)
  }

  async waiting(limit: number): Promise<readonly OutboxRecord[]> {
    return answering(() => this.#waiting.all(limit)) as unknown as readonly OutboxRecord[]
  }

  async shipped(sequence: number): Promise<void> {
    await this.#commits.join(() => this.#shipped.run(sequence))
  }

  async hold(holder: string): Promise<boolean> {
    const now = this.#now().getTime()
    // Each renewal waits for the disk, so it isn't asked for with every batch.
    if (now < this.#heldUntil - HOLD_MS / 2) return true
    const until = now + HOLD_MS
    const { changes } = await this.#commits.write(() => this.#hold.run(OUTBOX, holder, until, holder, now))
    const held = changes === 1
    this.#heldUntil = held ? until : 0
    // The disk may have taken longer than the lease lasts.
    return this.#now().getTime() < this.#heldUntil
  }

  async release(holder: string): Promise<void> {
    this.#heldUntil = 0
    await this.#commits.write(() => this.#release.run(OUTBOX, holder))
  }
}

/** As in sqlite-table.ts: each call binds its own values in the order written here. */
function compile(db: Kysely<Tables>) {
  const lease = db.insertInto('leases').values({ name: '', holder: '', until: 0 })
  const hold = lease.onConflict((conflict) => {
    const taking = { holder: sql<string>`excluded.holder`, until: sql<number>`excluded.until` }
    return conflict
      .column('name')
      .doUpdateSet(taking)
      .where((eb) => eb.or([eb('leases.holder', '=', ''), eb('leases.until', '<=', 0)]))
  })
  return {
    hold: hold.compile().sql,
    release: db.deleteFrom('leases').where('name', '=', '').where('holder', '=', '').compile().sql,
    add: db.insertInto('outbox').values({ record: '' }).compile().sql,
    waiting: db.selectFrom('outbox').select(['sequence', 'record']).orderBy('sequence').limit(1).compile().sql,
    shipped: db.deleteFrom('outbox').where('sequence', '<=', 1).compile().sql,
  }
}
