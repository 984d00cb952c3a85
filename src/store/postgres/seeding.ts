/** The contract's Seeding on PostgreSQL. */
import type { Document } from '../../resources/object.ts'
import type { Seeding } from '../contract.ts'
import { StaleObject } from '../errors.ts'
import { answering } from './failures.ts'
import { readMark, writeMark } from './named-values.ts'
import { type PostgresEngine, tableOf } from './store.ts'
import { decodeText } from './stored-text.ts'

/** The statistics would show only later that a table has become large. */
const LARGE = 1000
/** A statement's values are sent at once. */
const AT_ONCE = 1000

const ALLOWED = { allowed: () => 'true', record: undefined }

export class PostgresSeeding implements Seeding {
  readonly #engine: PostgresEngine

  constructor(engine: PostgresEngine) {
    this.#engine = engine
  }

  async insert(
    resource: string,
    objects: readonly { readonly id: string; readonly document: Document }[],
  ): Promise<void> {
    const { connections, now } = this.#engine
    const { objects: table } = tableOf(this.#engine, resource)
    const at = now().toISOString()
    const made = objects.map((object) => ({ ...object, version: 1, createdAt: at, updatedAt: at }))
    const chunks = Array.from({ length: Math.ceil(made.length / AT_ONCE) }, (_, n) => {
      return made.slice(n * AT_ONCE, (n + 1) * AT_ONCE)
    })
    await answering(() =>
      table.writing(() =>
        connections.writer.transaction(async (ask) => {
          for (const chunk of chunks) await ask(table.insertAll(chunk))
        }),
      ),
    )
    if (objects.length >= LARGE) await connections.slow({ text: `analyze ${table.name}`, values: [] })
  }

  async replace(
    resource: string,
    object: { readonly id: string; readonly version: number; readonly document: Document },
  ): Promise<void> {
    const { connections, now } = this.#engine
    const { objects } = tableOf(this.#engine, resource)
    const change = { ...object, updatedAt: now().toISOString() }
    const statement = objects.update(change, ALLOWED)
    const updated = await answering(() => objects.writing(() => connections.writer.write({ alone: () => statement })))
    if (updated.length === 0) throw new StaleObject()
  }

  async readMark(name: string): Promise<string | undefined> {
    const [row] = await this.#engine.connections.slow(readMark(name))
    return row && decodeText(String(row[0]))
  }

  async writeMark(name: string, value: string): Promise<void> {
    await this.#engine.connections.change(writeMark(name, value))
  }

  async count(resource: string): Promise<number> {
    const { objects } = tableOf(this.#engine, resource)
    const [row] = await this.#engine.connections.slow(objects.count())
    return Number(row?.[0])
  }
}
