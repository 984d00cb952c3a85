/** The cell that would notice a mutant, as a matrix to paste. */

import { columnText, expectedText, objectText } from '../read/expectation.ts'
import { lineOf } from '../read/table.ts'
import type { Witness } from './witness.ts'

export interface Paste {
  /** A matrix of one row, with its head. */
  readonly rows: string
  /** What the row sends, where the smallest body doesn't tell: a file of bodies/ and its content. */
  readonly body?: { readonly file: string; readonly json: string }
}

export function pasteOf({ cell, expected }: Witness): Paste {
  const { method, path, object, column, content } = cell
  const place = { method, path, object: objectText(object) }
  const caller = columnText(column)
  if (!content) {
    return {
      rows: [
        ['method', 'path', 'object', caller],
        [...Object.values(place), expectedText(expected)],
      ]
        .map(lineOf)
        .join(''),
    }
  }
  const file = `${method.toLowerCase()}-${Object.keys(content).join('-') || 'nothing'}.json`
  const head = ['method', 'path', 'object', 'body', caller]
  const rows = [head, [...Object.values(place), file, expectedText(expected)]].map(lineOf).join('')
  return { rows, body: { file, json: JSON.stringify(content) } }
}
