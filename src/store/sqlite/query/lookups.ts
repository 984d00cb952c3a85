/** Answers questions about stored objects, from the values that they compare: a few searches in indexes. */
import type { DatabaseSync } from 'node:sqlite'
import type { Lookup } from '../../../decide/conditions/condition.ts'
import { DamagedObject } from '../../errors.ts'
import { MOST_CLIMBED } from '../../lists/read-bounds.ts'
import { documentNamed } from '../../parse-stored.ts'
import { lookupSql } from '../../sql/condition.ts'
import { quoteName } from '../../sql/statement.ts'
import { isMalformedJson } from '../database.ts'
import { OBJECT_TABLES } from '../layout/schema.ts'
import type { StatementRunner } from '../statements.ts'
import { type QueriedTableOf, written } from './condition.ts'
import { workOf } from './work.ts'

/** Whether such an object is stored. Throws PastBound. */
export type HoldsLookup = (lookup: Lookup) => boolean

export function holdsIn(
  database: DatabaseSync,
  statements: StatementRunner,
  tableOf: QueriedTableOf,
  damage = new Damage(database),
): HoldsLookup {
  const work = workOf(database)
  return (lookup) => {
    const asked = written(tableOf, lookup.resource, (scope) => lookupSql(lookup, () => scope))
    if (asked.text === 'false') return false
    const read = () => statements.rows({ ...asked, text: `select ${asked.text}` })[0]?.[0] === 1
    return damage.naming(() => work.within({ steps: MOST_CLIMBED }, read))
  }
}

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
