/** What is passed on of an object that a list found: some of its fields, as text, or as values where a few are looked at. */
import type { RowFields } from '../decide/grants/row-fields.ts'
import type { Representation } from '../resources/resource.ts'
import { DamagedObject, type ListedObject } from './contract.ts'
import { cutDocument } from './cut-document.ts'
import { documentNamed } from './parse-stored.ts'

/** JSON, its fields in the order of `represent`. Throws DamagedObject for a document that isn't a JSON object. */
function writeListed({ id, text, createdAt, updatedAt }: ListedObject, fields: ReadonlySet<string>): string {
  let written = cut(id, text, fields)
  if (fields.has('id')) written = `"id":${JSON.stringify(id)}${written && `,${written}`}`
  if (fields.has('createdAt')) written += `${written && ','}"createdAt":"${createdAt}"`
  if (fields.has('updatedAt')) written += `${written && ','}"updatedAt":"${updatedAt}"`
  return `{${written}}`
}

/** The rows of a list as JSON text: of each the fields that it shows. */
export function rowWriter(shown: RowFields): (row: ListedObject) => string {
  if (shown.kind === 'alike') return (row) => writeListed(row, shown.fields)
  return (row) => writeListed(row, shown.of(readListed(row, shown.compared)))
}

/** Bytes that the object takes in an answer that shows all of it, or a few more. */
export function sizeOfListed({ id, text }: ListedObject): number {
  return Buffer.byteLength(text) + Buffer.byteLength(id) + SERVER_FIELDS_BYTES
}

/** Never fewer, and told without a look at the text: a UTF-16 unit takes at most three bytes of UTF-8. */
export function mostOfListed({ id, text }: ListedObject): number {
  return 3 * (text.length + id.length) + SERVER_FIELDS_BYTES
}

/** Their names, the two times, and what is between them. */
const SERVER_FIELDS_BYTES = 100

function cut(id: string, text: string, fields: ReadonlySet<string>): string {
  try {
    return cutDocument(text, fields)
  } catch {
    throw new DamagedObject(documentNamed(id))
  }
}

/** Throws DamagedObject for a document that isn't a JSON object. */
export function readListed(object: ListedObject, fields: ReadonlySet<string>): Representation {
  return JSON.parse(writeListed(object, fields))
}
