/**
 * The rows of a list, and its page as JSON text, for engines that keep a document as such a text: the fields are cut from
 * it without parsing it.
 */
import type { RowFields } from '../../decide/grants/list-decision.ts'
import type { Representation } from '../../resources/resource.ts'
import type { ListedObject } from '../contract.ts'
import { DamagedObject } from '../errors.ts'
import { documentNamed } from '../parse-stored.ts'
import { MemberCutter } from './member-cutter.ts'

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

  json(shown: MemberCutter): string {
    const { id, createdAt, updatedAt } = this
    let written = this.#cut(shown)
    // The usual row is written at once: a text that grows piece by piece takes a quarter longer.
    if (written && shown.id && shown.createdAt && shown.updatedAt) {
      return `{"id":${quoted(id)},${written},"createdAt":"${createdAt}","updatedAt":"${updatedAt}"}`
    }
    if (shown.id) written = `"id":${quoted(id)}${written && `,${written}`}`
    if (shown.createdAt) written += `${written && ','}"createdAt":"${createdAt}"`
    if (shown.updatedAt) written += `${written && ','}"updatedAt":"${updatedAt}"`
    return `{${written}}`
  }

  bytes(): number {
    return Buffer.byteLength(this.text) + Buffer.byteLength(this.id) + SERVER_FIELDS_BYTES
  }

  /** A UTF-16 unit takes at most three bytes of UTF-8. */
  bytesAtMost(): number {
    return 3 * (this.text.length + this.id.length) + SERVER_FIELDS_BYTES
  }

  #cut(shown: MemberCutter): string {
    try {
      return shown.cut(this.text)
    } catch {
      throw new DamagedObject(documentNamed(this.id))
    }
  }
}

/** Printable ASCII except `"` and `\`: it stands in JSON as it is, which JSON.stringify takes longer to find out. */
const PLAIN = /^[ !#-[\]-~]*$/

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
}

export type RowWriter = (row: ListedObject) => string

/** The rows of a list as JSON text: each with the fields that it shows. */
export function rowWriter(shown: RowFields): RowWriter {
  if (shown.kind === 'alike') {
    const fields = new MemberCutter(shown.fields)
    return (row) => row.json(fields)
  }
  const compared = new MemberCutter(shown.compared)
  const cutters = new Map<ReadonlySet<string>, MemberCutter>()
  return (row) => {
    const fields = shown.of(readListed(row, compared), row.marks)
    return row.json(cutters.getOrInsertComputed(fields, () => new MemberCutter(fields)))
  }
}

/** Throws DamagedObject. */
export function readListed(row: ListedObject, fields: MemberCutter): Representation {
  return JSON.parse(row.json(fields))
}

// A page of a list: as many of the found objects as fit it, each with the fields that it shows.

export interface PageForm {
  /** In objects. */
  readonly limit: number
  readonly bytes: number
  /** The fields of each row, if nothing else decides what a row shows. */
  readonly alike: ReadonlySet<string> | undefined
}

export interface WrittenPage {
  readonly last: ListedObject | undefined
  /** More objects were found than fit the page. */
  readonly hasNext: boolean
  /** The rows, with commas between them. */
  readonly text: string
}

/** What was written last, of rows that the store gives again. */
const WRITTEN = new WeakMap<readonly ListedObject[], { form: PageForm; page: WrittenPage }>()

/** `writer` writes rows of this form. */
export function writtenPage(found: readonly ListedObject[], form: PageForm, writer: () => RowWriter): WrittenPage {
  // With rows that are soon forgotten, nothing is kept: it would take more time than it saves.
  if (form.alike === undefined || !Object.isFrozen(found)) return writePage(found, form, writer())
  const known = WRITTEN.get(found)
  if (known && isSame(known.form, form)) return known.page
  const page = writePage(found, form, writer())
  WRITTEN.set(found, { form, page })
  return page
}

function writePage(found: readonly ListedObject[], form: PageForm, write: RowWriter): WrittenPage {
  const items = found.slice(0, fittingOf(found, form))
  return { last: items.at(-1), hasNext: items.length < found.length, text: items.map(write).join() }
}

function isSame(one: PageForm, other: PageForm): boolean {
  return one.limit === other.limit && one.bytes === other.bytes && one.alike === other.alike
}

/** How many of the first objects make a page: at most `limit`, and at most `bytes` in size, but at least one. */
function fittingOf(found: readonly ListedObject[], { limit, bytes }: PageForm): number {
  const most = Math.min(found.length, limit)
  if (found.reduce((sum, object) => sum + object.bytesAtMost(), 0) <= bytes) return most
  let size = 0
  for (let at = 0; at < most; at++) {
    size += found[at]?.bytes() ?? 0
    if (size > bytes && at > 0) return at
  }
  return most
}
