/** The contract's Store on SQLite: each call is one statement, which is its own transaction, durable when it returns. */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { type ListQuery, StaleObject, type Store, type StoredObject } from './contract.ts'
import { renewStatistics } from './node-sqlite.ts'
import type { Permit } from './permit.ts'
import { answering } from './sqlite-errors.ts'
import type { NamedValues } from './sqlite-meta.ts'
import type { ObjectTable } from './sqlite-table.ts'

/** What the engine's faces work on. */
export interface Engine {
  readonly database: DatabaseSync
  /** By the resource's name. */
  readonly tables: ReadonlyMap<string, ObjectTable>
  readonly values: NamedValues
  readonly now: () => Date
}

const SECRET_BYTES = 32

/** So that a table that grows from nothing is known to be large soon enough. */
const WRITES_PER_STATISTICS = 1000

/** A resource without a table is a mistake of the program, so it isn't the store that is unavailable. */
export function tableOf({ tables }: Engine, resource: string): ObjectTable {
  const table = tables.get(resource)
  if (!table) throw new Error(`the store has no resource \`${resource}\``)
  return table
}

export class SqliteStore implements Store {
  readonly #engine: Engine
  #writes = 0

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async get(resource: string, id: string): Promise<StoredObject | undefined> {
    const table = tableOf(this.#engine, resource)
    return answering(() => table.get(id))
  }

  async list(resource: string, query: ListQuery): Promise<readonly StoredObject[]> {
    const table = tableOf(this.#engine, resource)
    return answering(() => table.list(query))
  }

  async create(permit: Permit<'create'>): Promise<StoredObject> {
    const table = tableOf(this.#engine, permit.resource)
    const created = answering(() => table.insert(permit.id, this.#time(), permit.document))
    this.#countWrite()
    return created
  }

  async update(permit: Permit<'update'>): Promise<StoredObject> {
    const { resource, id, version, document } = permit
    const table = tableOf(this.#engine, resource)
    const updated = answering(() => table.update({ id, version, updatedAt: this.#time(), document }))
    if (!updated) throw new StaleObject()
    this.#countWrite()
    return updated
  }

  async delete(permit: Permit<'delete'>): Promise<void> {
    const table = tableOf(this.#engine, permit.resource)
    if (!answering(() => table.delete(permit.id, permit.version))) throw new StaleObject()
    this.#countWrite()
  }

  async secret(name: string): Promise<Uint8Array> {
    const { values } = this.#engine
    return answering(() => values.secret(name) ?? values.keepSecret(name, randomBytes(SECRET_BYTES)))
  }

  async ping(): Promise<void> {
    answering(() => this.#engine.values.mark(''))
  }

  async close(): Promise<void> {
    const { database } = this.#engine
    if (database.isOpen) answering(() => database.close())
  }

  #time(): string {
    return this.#engine.now().toISOString()
  }

  #countWrite(): void {
    this.#writes += 1
    if (this.#writes % WRITES_PER_STATISTICS === 0) renewStatistics(this.#engine.database)
  }
}
