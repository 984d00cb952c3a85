/** The outbox: decision records that committed with their writes, until they are in the decision log. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import type { Outbox, OutboxRecord } from './contract.ts'
import { answering } from './sqlite-errors.ts'
import type { Tables } from './sqlite-schema.ts'

export class SqliteOutbox implements Outbox {
  readonly #add: StatementSync
  readonly #waiting: StatementSync
  readonly #shipped: StatementSync

  constructor(db: Kysely<Tables>, database: DatabaseSync) {
    const queries = compile(db)
    this.#add = database.prepare(queries.add)
    this.#waiting = database.prepare(queries.waiting)
    this.#shipped = database.prepare(queries.shipped)
  }

  /** Belongs into the transaction of the write that the record is about. */
  add(record: string): void {
    this.#add.run(record)
  }

  async waiting(limit: number): Promise<readonly OutboxRecord[]> {
    return answering(() => this.#waiting.all(limit)) as unknown as readonly OutboxRecord[]
  }

  async shipped(sequence: number): Promise<void> {
    answering(() => this.#shipped.run(sequence))
  }
}

/** As in sqlite-table.ts: each call binds its own values in the order written here. */
function compile(db: Kysely<Tables>) {
  return {
    add: db.insertInto('outbox').values({ record: '' }).compile().sql,
    waiting: db.selectFrom('outbox').select(['sequence', 'record']).orderBy('sequence').limit(1).compile().sql,
    shipped: db.deleteFrom('outbox').where('sequence', '<=', 1).compile().sql,
  }
}
