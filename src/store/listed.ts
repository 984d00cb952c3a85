/** The rows of a list, for engines that keep a document as JSON text: fields are cut out of the text. */
import type { RowFields } from '../decide/decision.ts'
import type { Representation } from '../resources/resource.ts'
import { DamagedObject, type ListedObject } from './contract.ts'
import { cutDocument } from './cut-document.ts'
import { documentNamed } from './parse-stored.ts'

/** The names of the two times and the id, the times, and what is between them. */
const SERVER_FIELDS_BYTES = 100

export class JsonRow implements ListedObject {
  readonly id: string
  readonly createdAt: string
  readonly updatedAt: string
  /** The document as JSON.stringify writes it. */
  readonly text: string

  constructor(id: string, createdAt: string, updatedAt: string, text: string) {
    this.id = id
    this.createdAt = createdAt
    this.updatedAt = updatedAt
    this.text = text
  }

  json(fields: ReadonlySet<string>): string {
    const { id, createdAt, updatedAt } = this
    let written = this.#cut(fields)
    if (fields.has('id')) written = `"id":${JSON.stringify(id)}${written && `,${written}`}`
    if (fields.has('createdAt')) written += `${written && ','}"createdAt":"${createdAt}"`
    if (fields.has('updatedAt')) written += `${written && ','}"updatedAt":"${updatedAt}"`
    return `{${written}}`
  }

  bytes(): number {
    return Buffer.byteLength(this.text) + Buffer.byteLength(this.id) + SERVER_FIELDS_BYTES
  }

  /** A UTF-16 unit takes at most three bytes of UTF-8. */
  bytesAtMost(): number {
    return 3 * (this.text.length + this.id.length) + SERVER_FIELDS_BYTES
  }

  #cut(fields: ReadonlySet<string>): string {
    try {
      return cutDocument(this.text, fields)
    } catch {
      throw new DamagedObject(documentNamed(this.id))
    }
  }
}

/** The rows of a list as JSON text: each with the fields that it shows. */
export function rowWriter(shown: RowFields): (row: ListedObject) => string {
  if (shown.kind === 'alike') return (row) => row.json(shown.fields)
  return (row) => row.json(shown.of(readListed(row, shown.compared)))
}

/** Throws DamagedObject. */
export function readListed(row: ListedObject, fields: ReadonlySet<string>): Representation {
  return JSON.parse(row.json(fields))
}
