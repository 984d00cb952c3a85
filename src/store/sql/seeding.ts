/** The contract's Seeding. */
import type { AtMost } from '../../decide/role-guarantees.ts'
import type { Document } from '../../resources/object.ts'
import type { Seeding } from '../contract.ts'
import { StaleObject, UniqueTaken } from '../errors.ts'
import { readMark, writeMark } from './named-values.ts'
import { deleteAll, NotUnique, type ObjectVersion, type SqlObjects } from './objects.ts'
import { withinBounds } from './people-with-role.ts'
import { type SqlEngine, sql, type Work } from './statement.ts'

interface SeedingParts {
  readonly engine: SqlEngine
  readonly objectsOf: (resource: string) => SqlObjects
  /** Called when so many objects were inserted: statistics would show only later that a table has become large. */
  readonly grown: (objects: SqlObjects, count: number) => unknown
}

export class SqlSeeding implements Seeding {
  readonly #parts: SeedingParts

  constructor(parts: SeedingParts) {
    this.#parts = parts
  }

  async insert(
    resource: string,
    objects: readonly { readonly id: string; readonly document: Document }[],
    bounds: readonly AtMost[] = [],
  ): Promise<void> {
    const { engine, objectsOf, grown } = this.#parts
    const table = objectsOf(resource)
    const at = engine.now().toISOString()
    const made = objects.map((object) => ({ ...object, version: 1, createdAt: at, updatedAt: at }))
    await engine.write(() => withinBounds(bounds, { ...engine, users: table.name }, table.insertAll(made)))
    await grown(table, made.length)
  }

  async replace(
    resource: string,
    object: { readonly id: string; readonly version: number; readonly document: Document },
    bounds: readonly AtMost[] = [],
  ): Promise<void> {
    const { engine, objectsOf } = this.#parts
    const table = objectsOf(resource)
    const time = engine.now().toISOString()
    const rewriting = () => naming(table.rewriteAll([object], time))
    await engine.write(() => withinBounds(bounds, { ...engine, users: table.name }, rewriting()))
  }

  async remove(resource: string, object: ObjectVersion): Promise<void> {
    const { engine, objectsOf } = this.#parts
    const { name } = objectsOf(resource)
    await engine.write(() => removing(name, object, engine.dialect))
  }

  async readMark(name: string): Promise<string | undefined> {
    const { ask, dialect } = this.#parts.engine
    const [row] = await ask(readMark(name))
    return row && dialect.fromStored(row[0])
  }

  async writeMark(name: string, value: string): Promise<void> {
    await this.#parts.engine.change(writeMark(name, this.#parts.engine.dialect.text(value)))
  }

  async count(resource: string): Promise<number> {
    const [row] = await this.#parts.engine.ask(sql(`select count(*) from ${this.#parts.objectsOf(resource).name}`))
    return Number(row?.[0])
  }
}

function* removing(table: string, object: ObjectVersion, dialect: SqlEngine['dialect']): Work<void> {
  if ((yield* deleteAll(table, [object], dialect)) === 0) throw new StaleObject()
}

function* naming(work: Work<void>): Work<void> {
  try {
    yield* work
  } catch (error) {
    throw error instanceof NotUnique && error.cause instanceof UniqueTaken ? error.cause : error
  }
}
