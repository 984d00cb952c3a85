/**
 * The rows of a list, for engines that keep a document as JSON text: the fields are cut from the text without parsing
 * it.
 */
import type { RowFields } from '../../decide/grants/list-decision.ts'
import type { Representation } from '../../resources/resource.ts'
import type { ListedObject } from '../contract.ts'
import { DamagedObject } from '../errors.ts'
import { documentNamed } from '../parse-stored.ts'

/** The bytes of the names of both times and of the id, the times themselves, and the punctuation between them. */
export const SERVER_FIELDS_BYTES = 100

export class JsonRow implements ListedObject {
  readonly id: string
  readonly createdAt: string
  readonly updatedAt: string
  /** The document as JSON.stringify writes it. */
  readonly text: string
  readonly marks: readonly boolean[]

  constructor(id: string, createdAt: string, updatedAt: string, text: string, marks: readonly boolean[] = []) {
    this.id = id
    this.createdAt = createdAt
    this.updatedAt = updatedAt
    this.text = text
    this.marks = marks
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
  return (row) => row.json(shown.of(readListed(row, shown.compared), row.marks))
}

/** Throws DamagedObject. */
export function readListed(row: ListedObject, fields: ReadonlySet<string>): Representation {
  return JSON.parse(row.json(fields))
}

/**
 * The members of a document that `fields` names, cut from its text, with commas between them. The document is in the
 * form of JSON.stringify, and no name in `fields` needs an escape; any other text is first converted to that form.
 * Throws SyntaxError for a text that isn't a JSON object.
 */
export function cutDocument(text: string, fields: ReadonlySet<string>): string {
  const cut = cutWritten(text, fields) ?? cutWritten(JSON.stringify(JSON.parse(text)), fields)
  if (cut === undefined) throw new SyntaxError('not a JSON object')
  return cut
}

const NOWHERE = -1

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]

/** Undefined if the text isn't an object in the form of JSON.stringify. */
function cutWritten(text: string, fields: ReadonlySet<string>): string | undefined {
  if (text === '{}') return ''
  if (text.charCodeAt(0) !== OPEN_OBJECT) return undefined
  let cut = ''
  let at = 0
  do {
    const nameEnd = endOfText(text, at + 1)
    const end = text.charCodeAt(nameEnd) === COLON ? endOfValue(text, nameEnd + 1) : NOWHERE
    if (end === NOWHERE) return undefined
    // Each member is cut with the comma before its name; the first one without.
    if (fields.has(text.slice(at + 2, nameEnd - 1))) cut += text.slice(cut === '' ? at + 1 : at, end)
    at = end
  } while (text.charCodeAt(at) === COMMA)
  return text.charCodeAt(at) === CLOSE_OBJECT && at === text.length - 1 ? cut : undefined
}

/** Each end is the position after the last character, or NOWHERE. */
function endOfValue(text: string, at: number): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) return endOfText(text, at)
  return first === OPEN_OBJECT || first === OPEN_LIST ? endOfNested(text, at) : endOfPlain(text, at)
}

function endOfText(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) return NOWHERE
  let quote = text.indexOf('"', at + 1)
  while (quote !== NOWHERE && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote === NOWHERE ? NOWHERE : quote + 1
}

/** A backslash escapes the next one, too. */
function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (at - first) % 2 === 1
}

function endOfNested(text: string, at: number): number {
  let depth = 0
  let end = at
  do {
    const code = text.charCodeAt(end)
    if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1
    if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth -= 1
    end = code === QUOTE ? endOfText(text, end) : end + 1
  } while (depth > 0 && end !== NOWHERE && end < text.length)
  return depth === 0 ? end : NOWHERE
}

/** A number, `true`, `false` or `null` (RFC 8259 sections 3 and 6). */
const PLAIN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

function endOfPlain(text: string, at: number): number {
  PLAIN.lastIndex = at
  return PLAIN.test(text) ? PLAIN.lastIndex : NOWHERE
}
