/** The contract's Seeding on SQLite. */
import type { Document } from '../../../resources/object.ts'
import type { Seeding } from '../../contract.ts'
import { StaleObject } from '../../errors.ts'
import { answering, renewStatistics } from '../database.ts'
import { type SqliteEngine, tableOf } from '../store.ts'

export class SqliteSeeding implements Seeding {
  readonly #engine: SqliteEngine

  constructor(engine: SqliteEngine) {
    this.#engine = engine
  }

  async insert(
    resource: string,
    objects: readonly { readonly id: string; readonly document: Document }[],
  ): Promise<void> {
    const { database, now } = this.#engine
    const table = tableOf(this.#engine, resource)
    const at = now().toISOString()
    await this.#write(() => {
      for (const object of objects) table.insert({ ...object, version: 1, createdAt: at, updatedAt: at })
    })
    renewStatistics(database)
  }

  async replace(
    resource: string,
    object: { readonly id: string; readonly version: number; readonly document: Document },
  ): Promise<void> {
    const { now } = this.#engine
    const table = tableOf(this.#engine, resource)
    const updated = await this.#write(() => table.update({ ...object, updatedAt: now().toISOString() }))
    if (updated === undefined) throw new StaleObject()
  }

  async readMark(name: string): Promise<string | undefined> {
    return answering(() => this.#engine.values.mark(name))
  }

  async writeMark(name: string, value: string): Promise<void> {
    await this.#write(() => this.#engine.values.setMark(name, value))
  }

  async count(resource: string): Promise<number> {
    const table = tableOf(this.#engine, resource)
    return answering(() => table.count())
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#engine.commits.write(() => answering(work))
  }
}
