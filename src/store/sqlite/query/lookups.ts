/** Answers questions about stored objects, from the values that they compare: a few searches in indexes. */

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import type { Condition, Lookup } from '../../../decide/conditions/condition.ts'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import { DamagedObject } from '../../errors.ts'
import { MOST_CLIMBED } from '../../lists/read-bounds.ts'
import { documentNamed } from '../../parse-stored.ts'
import { quoteName } from '../../sql/quote.ts'
import { isMalformedJson } from '../database.ts'
import { OBJECT_TABLES } from '../layout/schema.ts'
import { boundValues, conditionShape, conditionSql, outermost, stepsSql, type TableOf, within } from './condition.ts'
import { workOf } from './work.ts'

const STATEMENTS = 128

interface Asked {
  readonly resource: string
  readonly climb: Lookup['climb']
  /** Of the objects that the values name. */
  readonly named: Condition
  readonly where: Condition
}

export class Lookups {
  readonly #database: DatabaseSync
  readonly #tableOf: TableOf
  readonly #damage: Damage
  readonly #work: ReturnType<typeof workOf>
  readonly #statements = new LRUCache<string, StatementSync, () => StatementSync>({
    maxSize: STATEMENTS,
    sizeCalculation: () => 1,
    memoMethod: (_key, _stale, { context: prepare }) => prepare(),
  })

  constructor(database: DatabaseSync, tableOf: TableOf, damage = new Damage(database)) {
    this.#database = database
    this.#work = workOf(database)
    this.#tableOf = tableOf
    this.#damage = damage
  }

  /** Throws PastBound. */
  holds({ resource, by, values, climb, where }: Lookup): boolean {
    const asked = { resource, climb, named: simplify({ kind: 'holds', field: by, values }), where: simplify(where) }
    if (asked.named.kind === 'never' || asked.where.kind === 'never') return false
    const bound: readonly SQLInputValue[] = [...boundValues(asked.named), ...boundValues(asked.where)]
    const key = JSON.stringify([resource, climb, conditionShape(asked.named), conditionShape(asked.where)])
    const statement = this.#statements.memo(key, { context: () => this.#prepare(asked) })
    const read = () => statement.get(...bound) !== undefined
    return this.#damage.naming(() => this.#work.within({ steps: MOST_CLIMBED }, read))
  }

  #prepare(asked: Asked): StatementSync {
    return this.#database.prepare(`${this.#sqlOf(asked)} limit 1`)
  }

  #sqlOf({ resource, climb, named, where }: Asked): string {
    const table = this.#tableOf(resource)
    const scope = outermost(table, this.#tableOf)
    const name = quoteName(table.name)
    if (!climb) return `select 1 from ${name} where ${conditionSql({ kind: 'all', of: [named, where] }, scope)}`
    const start = `select ${name}.id, 1 from ${name} where ${conditionSql(named, scope)}`
    const reached = within(scope, resource)
    return `${stepsSql({ ...climb, start }, reached)} where ${conditionSql(where, reached)}`
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
