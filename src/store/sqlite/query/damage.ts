/**
 * Names the object whose document keeps a statement from looking into documents: the engine doesn't report which one it
 * is.
 */
import type { DatabaseSync } from 'node:sqlite'
import { DamagedObject } from '../../errors.ts'
import { documentNamed } from '../../parse-stored.ts'
import { quoteName } from '../../sql/quote.ts'
import { isMalformedJson } from '../database.ts'
import { OBJECT_TABLES } from '../layout/schema.ts'

export class Damage {
  readonly #database: DatabaseSync
  /** The object that was found last: a search reads whole tables. */
  #last = { table: '', id: '' }

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** Runs the work; throws DamagedObject if it met a document that isn't JSON. */
  naming<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw isMalformedJson(error) ? new DamagedObject(documentNamed(this.#find())) : error
    }
  }

  #find(): string {
    const { table, id } = this.#last
    if (table !== '' && this.#findIn(table, `and id = ?`, id) !== undefined) return id
    for (const { name } of this.#database.prepare(OBJECT_TABLES).all()) {
      const found = this.#findIn(String(name), 'limit 1')
      if (found === undefined) continue
      this.#last = { table: String(name), id: found }
      return found
    }
    return ''
  }

  #findIn(table: string, rest: string, ...values: readonly string[]): string | undefined {
    const search = `select id from ${quoteName(table)} where not json_valid(document) ${rest}`
    return this.#database.prepare(search).get(...values)?.id as string | undefined
  }
}
