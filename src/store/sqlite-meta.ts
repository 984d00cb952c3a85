/** Values kept by name, next to the objects: secrets that instances share, and marks that say what the data is. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import type { Tables } from './sqlite-schema.ts'

export class NamedValues {
  readonly #secret: StatementSync
  readonly #keepSecret: StatementSync
  readonly #mark: StatementSync
  readonly #setMark: StatementSync

  constructor(db: Kysely<Tables>, database: DatabaseSync) {
    const queries = compile(db)
    this.#secret = database.prepare(queries.secret)
    this.#keepSecret = database.prepare(queries.keepSecret)
    this.#mark = database.prepare(queries.mark)
    this.#setMark = database.prepare(queries.setMark)
  }

  secret(name: string): Uint8Array | undefined {
    return this.#secret.get(name)?.value as Uint8Array | undefined
  }

  /** The secret of this name: the candidate, unless another process was first. */
  keepSecret(name: string, candidate: Uint8Array): Uint8Array {
    this.#keepSecret.run(name, candidate)
    const kept = this.secret(name)
    if (!kept) throw new Error('the secret was taken away while it was made')
    return kept
  }

  mark(name: string): string | undefined {
    return this.#mark.get(name)?.value as string | undefined
  }

  setMark(name: string, value: string): void {
    this.#setMark.run(name, value)
  }
}

/** As in sqlite-table.ts: each call binds its own values in the order written here. */
function compile(db: Kysely<Tables>) {
  const secret = { name: '', value: new Uint8Array() }
  const mark = { name: '', value: '' }
  const ignoringTaken = db
    .insertInto('secrets')
    .values(secret)
    .onConflict((conflict) => conflict.doNothing())
  const replacing = db
    .insertInto('marks')
    .values(mark)
    .onConflict((conflict) => {
      return conflict.column('name').doUpdateSet({ value: (eb) => eb.ref('excluded.value') })
    })
  return {
    secret: db.selectFrom('secrets').select('value').where('name', '=', '').compile().sql,
    keepSecret: ignoringTaken.compile().sql,
    mark: db.selectFrom('marks').select('value').where('name', '=', '').compile().sql,
    setMark: replacing.compile().sql,
  }
}
