/** The names in a matrix. */
import { TextDocument } from 'vscode-languageserver-textdocument'
import type { SourceFile } from '../../base/diagnostic.ts'
import type { Resources } from '../../resources/resource.ts'
import { KNOWN_COLUMNS, readTable, type TableCell } from '../../tools/matrix/read/matrix-file.ts'
import { type NameSlot, slotsIn } from './name-slot.ts'

export function slotsOfMatrix(source: SourceFile, { routes }: Resources): readonly NameSlot[] {
  const document = TextDocument.create('', '', 0, source.text)
  const offsetOf = ({ place }: TableCell) => {
    const at = document.offsetAt({ line: place.line - 1, character: place.column - 1 })
    return source.text[at] === '"' ? at + 1 : at
  }
  const [head = [], ...rows] = readTable(source, () => undefined) ?? []
  const columns = head.map(({ text }) => KNOWN_COLUMNS.find((known) => known === text.toLowerCase()) ?? 'caller')
  const path = columns.indexOf('path')
  const inHead = head.flatMap((cell, i) => (columns[i] === 'caller' ? slotsOfCaller(cell.text, offsetOf(cell)) : []))
  return [
    ...inHead,
    ...rows.flatMap((row) => {
      const about = routes.flatMap((route) => (route.path === row[path]?.text ? [route.resource] : []))
      return row.flatMap((cell, i) => slotsOfCell(columns[i] ?? '', cell.text, offsetOf(cell), about))
    }),
  ]
}

const ROLES = /\+/g

function slotsOfCaller(text: string, start: number): readonly NameSlot[] {
  return slotsIn(text, start, ROLES, { kinds: ['role'], words: ['anonymous', 'everyone', 'user:'] })
}

function slotsOfCell(column: string, text: string, start: number, about: readonly string[]): readonly NameSlot[] {
  switch (column) {
    case 'method':
      return slotsIn(text, start, /\|/g, { words: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] })
    case 'object':
      return slotsIn(text, start, /\+/g, { kinds: ['relation'], about, words: ['none', 'missing', 'other', 'own'] })
    case 'becomes':
      return slotsIn(text, start, /[+>]/g, { kinds: ['relation'], about, words: ['other', 'own'] })
    case 'when':
      return slotsIn(text, start, /\+/g, { kinds: ['condition'] })
    case 'caller':
      return slotsOfAnswer(text, start, about)
    default:
      return []
  }
}

/** `200 public`, `200 [own+team&!draft]`. */
function slotsOfAnswer(text: string, start: number, about: readonly string[]): readonly NameSlot[] {
  const { status = '', rows, view } = /^(?<status>\d{3}\s+)(?:\[(?<rows>[^[\]]*)|(?<view>.*))/.exec(text)?.groups ?? {}
  const from = start + status.length
  if (rows !== undefined) {
    return slotsIn(rows, from + 1, /[+&]/g, { kinds: ['relation'], about, words: ['own', 'all', 'none'] })
  }
  return view === undefined ? [] : slotsIn(view, from, undefined, { kinds: ['view'], about })
}
