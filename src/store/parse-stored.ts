/** Parses stored JSON and checks its form: this program didn't write JSON of another form. */
import { isObject } from '../base/is-object.ts'
import type { Document, StoredObject } from '../resources/object.ts'
import type { Json } from '../resources/resource.ts'
import { DamagedObject } from './errors.ts'

/** Throws DamagedObject, whose message names the data as `what`. */
export function parseStored(text: string, what: () => string): Document {
  let parsed: Json
  try {
    parsed = JSON.parse(text)
  } catch {
    throw new DamagedObject(what())
  }
  if (isObject(parsed)) return parsed
  throw new DamagedObject(what())
}

/** Undefined for a damaged document. */
export function documentIn(text: string): Document | undefined {
  try {
    return parseStored(text, () => '')
  } catch {
    return undefined
  }
}

/** The name of a damaged object in messages. */
export function documentNamed(id: string): string {
  return `the stored document of \`${id}\``
}

/** Together they take some tens of megabytes at most. */
const MOST_KEPT = 2000
const LONGEST_KEPT = 4096

/** The columns of an object; `text` is its document. */
export interface ObjectRow extends Omit<StoredObject, 'document'> {
  readonly text: string
}

interface ParsedObject {
  readonly resource: string
  readonly text: string
  readonly object: StoredObject
  /** The state of the database in which the row was last read; undefined where states have no number. */
  state: number | undefined
}

/**
 * Objects that were parsed before. A row that has the same content is the same object: it isn't parsed again, and what
 * others make of an object can be kept with it. Nothing here can be out of date: a row is read each time, unless the
 * database is known to be in the state in which it was read last.
 */
export class ParsedObjects {
  /** By id, the oldest first; of the same id in two resources, the last. */
  readonly #parsed = new Map<string, ParsedObject>()

  /** What was read in this state of the database, in which each row has one content. */
  unchanged(resource: string, id: string, state: number): StoredObject | undefined {
    const known = this.#parsed.get(id)
    return known?.resource === resource && known.state === state ? known.object : undefined
  }

  /** Throws DamagedObject. Nobody may change the object: others have the same one. */
  of(resource: string, row: ObjectRow, state?: number): StoredObject {
    if (row.text.length > LONGEST_KEPT) return parsedObject(row)
    const known = this.#parsed.get(row.id)
    if (known?.resource === resource && isSame(known, row)) {
      known.state = state
      return known.object
    }
    const object = parsedObject(row)
    const oldest = this.#parsed.keys().next().value
    if (oldest !== undefined && this.#parsed.size >= MOST_KEPT) this.#parsed.delete(oldest)
    this.#parsed.set(row.id, { resource, text: row.text, object, state })
    return object
  }
}

/** Throws DamagedObject. */
export function parsedObject({ id, version, createdAt, updatedAt, text }: ObjectRow): StoredObject {
  return { id, version, createdAt, updatedAt, document: parseStored(text, () => documentNamed(id)) }
}

function isSame({ text, object: { version, createdAt, updatedAt } }: ParsedObject, row: ObjectRow): boolean {
  return text === row.text && version === row.version && createdAt === row.createdAt && updatedAt === row.updatedAt
}
