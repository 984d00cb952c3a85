/** A page of a list as JSON text: as many of the found objects as fit it, each with the fields that it shows. */
import type { ListedObject } from '../contract.ts'
import type { RowWriter } from './json-row.ts'

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
